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
    /// The endpoint's time less this machine's time since boot, once the machine's own time of day was refused.
    private var endpointOffsetMs: Int64?
    private var signedMs: Int64 = 0
    /// Times of the endpoint that were tried since the last token.
    private var corrections = 0
    /// The earliest machine time of the next warning about the endpoint's `expires_in`.
    private var nextComplaintMs = Int64.min
    /// A smaller difference is not what a claim is refused for.
    private static let skewMs: Int64 = 30_000

    private(set) var generation = 0
    private(set) var headers: RequestHeaders
    let canRefresh = true
    var projectID: String? { account.projectID }

    /// Called when a token has arrived, or was refused for good.
    var onChange: () -> Void = {}

    init(project: ProjectContext, account: ServiceAccount, lanes: LanePool) throws(OpenSSLError) {
        self.project = project
        self.account = account
        self.lanes = lanes
        headers = RequestHeaders(authorization: "", isOAuth: true, senderID: "")
        signer = try RS256Signer(pem: account.privateKey)
        lanes.onCompletion = { [weak self] _, outcome in self?.completed(outcome) }
    }

    func start() { tick() }

    func readiness() -> CredentialReadiness {
        poll()
        switch machine.readiness(nowMs: SystemClock.bootMs) {
        case .ready: return .ready
        case .wait: return .wait
        case .failed(let reason):
            return .failed(
                Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: reason, httpStatus: 0)
            )
        }
    }

    var isStuck: Bool { machine.isStuck(nowMs: SystemClock.bootMs) }

    func refused(_ generation: Int) { machine.refused(generation) }
    func renew(_ generation: Int) { machine.renew(generation) }
    func retryFailed() { machine.forceRetry() }

    private func tick() {
        poll()
        project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.tick() }
    }

    private func poll() {
        if machine.poll(nowMs: SystemClock.bootMs) == .fetch { fetch() }
    }

    private func fetch() {
        // About a millisecond of CPU once an hour: not worth a thread to hand the key to.
        signedMs = endpointOffsetMs.map { SystemClock.bootMs + $0 } ?? SystemClock.nowMs
        let input = TokenRequest.signingInput(account: account, nowSeconds: signedMs / 1_000)
        do {
            let signature = try signer.sign(input)
            nextTag += 1
            var request = HTTPRequest(
                tag: nextTag,
                method: .post,
                url: account.tokenURI,
                headers: ["Content-Type: application/x-www-form-urlencoded"],
                body: TokenRequest.body(signingInput: input, signature: signature),
                timeoutMs: project.configuration.requestTimeoutMs
            )
            // By it the endpoint says what time it takes it for.
            request.asksForDate = true
            lanes.send(request)
        } catch {
            machine.fetchRefused(reason: "the private key cannot sign: \(error)", nowMs: SystemClock.bootMs)
            onChange()
        }
    }

    private func completed(_ outcome: RequestOutcome) {
        let nowMs = SystemClock.bootMs
        guard case .answered(let answer) = outcome else {
            project.logger.warning("The token endpoint cannot be reached.", metadata: ["outcome": "\(outcome)"])
            machine.fetchDelayed(nowMs: nowMs)
            return onChange()
        }
        switch TokenRequest.parse(answer) {
        case .success(let token):
            corrections = 0
            complain(of: token, nowMs: nowMs)
            machine.fetched(lifetimeMs: token.lifetimeMs, nowMs: nowMs)
            if case .ready(let current) = machine.readiness(nowMs: nowMs) { generation = current }
            headers = RequestHeaders(
                authorization: "Bearer \(token.value)",
                isOAuth: true,
                senderID: project.project.senderID ?? ""
            )
            onChange()
        case .failure(let error) where error.isRetryable:
            project.logger.warning("The token endpoint asks for patience.", metadata: ["error": "\(error)"])
            machine.fetchDelayed(nowMs: nowMs)
            onChange()
        case .failure(let error) where error.code == "invalid_grant" && correct(by: answer, nowMs: nowMs):
            machine.fetchAgain()
            poll()
        case .failure(let error) where error.isAboutTime:
            // Other workers' clocks may be right, so the project is not to blame.
            endpointOffsetMs = nil
            corrections = 0
            project.logger.error(
                "The token endpoint takes this machine's clock for wrong, so this worker sends nothing: set it by NTP.",
                metadata: ["error": "\(error)", "machine_time_ms": "\(SystemClock.nowMs)"]
            )
            machine.fetchDelayed(nowMs: nowMs)
            onChange()
        case .failure(let error):
            project.logger.error("The token endpoint refused the credential.", metadata: ["error": "\(error)"])
            machine.fetchRefused(reason: "\(error)", nowMs: nowMs)
            onChange()
        }
    }

    /// Warns once a minute: sends wait for the next token when one is granted for few seconds or none.
    private func complain(of token: AccessToken, nowMs: Int64) {
        guard let trouble = token.lifetimeTrouble, nowMs >= nextComplaintMs else { return }
        nextComplaintMs = nowMs + 60_000
        project.logger.warning(
            "The token endpoint's expires_in is unusable: a token is fetched once in 10 s at most. Check token_uri.",
            metadata: ["expires_in": "\(trouble)", "used_for_s": "\(token.expiresInSeconds)"]
        )
    }

    /// A refused claim that was signed by another time than the answer's: signed again by the answer's.
    private func correct(by answer: HTTPAnswer, nowMs: Int64) -> Bool {
        guard let theirMs = answer.date.flatMap({ HTTPDate.milliseconds($0.utf8) }), corrections < 2,
            abs(theirMs - signedMs) > Self.skewMs
        else { return false }
        corrections += 1
        endpointOffsetMs = theirMs - nowMs
        project.logger.warning(
            "This machine's clock is not the token endpoint's, whose time is signed with: set it by NTP.",
            metadata: ["ahead_ms": "\(signedMs - theirMs)"]
        )
        return true
    }
}
