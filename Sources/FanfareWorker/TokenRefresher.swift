internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import OpenSSLKit

/// Keeps a project's OAuth access token: fetches it five minutes early, one request at a time.
final class TokenRefresher: CredentialSource {
    private let project: ProjectContext
    private let account: ServiceAccount
    private let signer: RS256Signer
    private let lanes: LanePool
    private var machine = CredentialMachine()
    private var nextTag: UInt64 = 0

    private(set) var generation = 0
    private(set) var headers: [String] = []
    let canRefresh = true
    var projectID: String? { account.projectID }

    /// Called when a token has arrived, or was refused for good.
    var onChange: () -> Void = {}

    init(project: ProjectContext, account: ServiceAccount, lanes: LanePool) throws(OpenSSLError) {
        self.project = project
        self.account = account
        self.lanes = lanes
        signer = try RS256Signer(pem: account.privateKey)
        lanes.onCompletion = { [weak self] _, outcome in self?.completed(outcome) }
    }

    func start() { tick() }

    func readiness() -> CredentialReadiness {
        poll()
        switch machine.readiness(nowMs: WallClock.nowMs) {
        case .ready: return .ready
        case .wait: return .wait
        case .failed(let reason):
            return .failed(
                Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: reason, httpStatus: 0)
            )
        }
    }

    func refused(_ generation: Int) { machine.refused(generation) }
    func retryFailed() { machine.forceRetry() }

    private func tick() {
        poll()
        project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.tick() }
    }

    private func poll() {
        if machine.poll(nowMs: WallClock.nowMs) == .fetch { fetch() }
    }

    private func fetch() {
        // About a millisecond of CPU once an hour: not worth a thread to hand the key to.
        let input = TokenRequest.signingInput(account: account, nowSeconds: WallClock.nowMs / 1_000)
        do {
            let signature = try signer.sign(input)
            nextTag += 1
            lanes.send(
                HTTPRequest(
                    tag: nextTag,
                    method: .post,
                    url: account.tokenURI,
                    headers: ["Content-Type: application/x-www-form-urlencoded"],
                    body: TokenRequest.body(signingInput: input, signature: signature),
                    timeoutMs: project.configuration.requestTimeoutMs
                )
            )
        } catch {
            machine.fetchRefused(reason: "the private key cannot sign: \(error)", nowMs: WallClock.nowMs)
            onChange()
        }
    }

    private func completed(_ outcome: RequestOutcome) {
        let nowMs = WallClock.nowMs
        guard case .answered(let answer) = outcome else {
            project.logger.warning("The token endpoint cannot be reached.", metadata: ["outcome": "\(outcome)"])
            return machine.fetchDelayed(nowMs: nowMs)
        }
        switch TokenRequest.parse(answer) {
        case .success(let token):
            machine.fetched(lifetimeMs: token.lifetimeMs, nowMs: nowMs)
            if case .ready(let current) = machine.readiness(nowMs: nowMs) { generation = current }
            headers = ["Authorization: Bearer \(token.value)", "Content-Type: application/json; charset=utf-8"]
            onChange()
        case .failure(let error) where error.isRetryable:
            project.logger.warning("The token endpoint asks for patience.", metadata: ["error": "\(error)"])
            machine.fetchDelayed(nowMs: nowMs)
        case .failure(let error):
            project.logger.error("The token endpoint refused the credential.", metadata: ["error": "\(error)"])
            machine.fetchRefused(reason: "\(error)", nowMs: nowMs)
            onChange()
        }
    }
}
