internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import OpenSSLKit

/// Keeps a project's OAuth access token: fetches it five minutes early, one request at a time. ``CredentialMachine`` and
/// ``TokenEndpointClock`` decide; this class signs and sends the requests.
final class TokenRefresher: CredentialSource {
    private let project: ProjectContext
    private let account: ServiceAccount
    private let signer: RS256Signer
    private let lanes: LanePool
    private var machine = CredentialMachine()
    private var nextTag: UInt64 = 0
    private var clock = TokenEndpointClock()
    private var lifetimeWarnings = LogThrottle(seconds: 60)

    private(set) var generation = 0
    private(set) var headers: RequestHeaders
    var projectID: String? { account.projectID }

    var onChange: () -> Void = {}

    /// - Parameter file: the bytes of the service account file.
    /// - Throws: why the file or its key cannot be used.
    init(project: ProjectContext, file: [UInt8], origin: OriginConfiguration) throws {
        self.project = project
        account = try ServiceAccount.parse(file)
        signer = try RS256Signer(pem: account.privateKey)
        headers = RequestHeaders(authorization: "", isOAuth: true, senderID: "")
        lanes = LanePool(loop: project.loop, configuration: origin)
        lanes.onCompletion = { [weak self] _, outcome in self?.completed(outcome) }
    }

    func start() {
        poll()
        project.loop.every(milliseconds: 1_000) { [weak self] in self?.poll() }
    }

    func close() { lanes.close() }

    func readiness() -> SendGate.Credential {
        poll()
        switch machine.readiness(nowMs: SystemClock.bootMs) {
        case .ready: return .ready
        case .wait: return .pending
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

    private func poll() {
        if machine.beginFetchIfDue(nowMs: SystemClock.bootMs) { fetch() }
    }

    private func fetch() {
        // About a millisecond of CPU once an hour: not worth a thread to hand the key to.
        let unixMs = clock.sign(nowMs: SystemClock.bootMs, machineUnixMs: SystemClock.nowMs)
        let input = TokenRequest.signingInput(account: account, nowSeconds: unixMs / 1_000)
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
            // The clock is corrected by it.
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
            clock.accepted()
            warn(of: token)
            machine.fetched(lifetimeMs: token.lifetimeMs, nowMs: nowMs)
            if case .ready(let current) = machine.readiness(nowMs: nowMs) { generation = current }
            headers = RequestHeaders(
                authorization: "Bearer \(token.value)",
                isOAuth: true,
                senderID: project.project.senderID ?? ""
            )
        case .failure(let error) where error.isRetryable:
            project.logger.warning(
                "The token endpoint refuses for now; the token is fetched again later.",
                metadata: ["error": "\(error)"]
            )
            machine.fetchDelayed(nowMs: nowMs)
        case .failure(let error) where error.code == "invalid_grant" && correctClock(by: answer, nowMs: nowMs):
            machine.fetchAgain()
            return poll()
        case .failure(let error) where error.isAboutTime:
            // Other workers' clocks may be right, so the credential has not failed.
            clock.reset()
            project.logger.error(
                "The token endpoint refuses this machine's time, so this worker sends nothing: set its clock by NTP.",
                metadata: ["error": "\(error)", "machine_time_ms": "\(SystemClock.nowMs)"]
            )
            machine.fetchDelayed(nowMs: nowMs)
        case .failure(let error):
            project.logger.error("The token endpoint refused the credential.", metadata: ["error": "\(error)"])
            machine.fetchRefused(reason: "\(error)", nowMs: nowMs)
        }
        onChange()
    }

    /// Sends wait for the next token when one is granted for a few seconds or none.
    private func warn(of token: AccessToken) {
        guard let trouble = token.lifetimeTrouble, lifetimeWarnings.admits(now: project.loop.now) else { return }
        project.logger.warning(
            "The token endpoint's expires_in is unusable: a token is fetched once in 10 s at most. Check token_uri.",
            metadata: ["expires_in": "\(trouble)", "used_for_s": "\(token.expiresInSeconds)"]
        )
    }

    /// - Returns: whether a new request will be signed by another time than the refused one.
    private func correctClock(by answer: HTTPAnswer, nowMs: Int64) -> Bool {
        let endpointUnixMs = answer.date.flatMap { HTTPDate.milliseconds($0.utf8) }
        guard let aheadMs = clock.correct(endpointUnixMs: endpointUnixMs, nowMs: nowMs) else { return false }
        project.logger.warning(
            "This machine's clock differs from the token endpoint's, whose time is signed with: set it by NTP.",
            metadata: ["ahead_ms": "\(aheadMs)"]
        )
        return true
    }
}
