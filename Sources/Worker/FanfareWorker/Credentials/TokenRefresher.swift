internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import HTTPLanes
internal import Logging
internal import OpenSSLKit

/// Keeps a project's OAuth access token: fetches it five minutes early, one exchange at a time. ``CredentialMachine``,
/// ``TokenExchange`` and ``TokenEndpointClock`` decide; this class has files read, signs and sends the requests.
final class TokenRefresher: CredentialSource {
    private let project: ProjectContext
    private let credential: Credential
    /// nil for a credential that signs nothing.
    private let signer: RS256Signer?
    private let endpoints: any TokenRequests
    /// Milliseconds on a clock that is never set.
    private let nowMs: () -> Int64
    private let reader: SubjectTokenReader
    private var machine = CredentialMachine()
    private var exchange: TokenExchange
    private var clock = TokenEndpointClock()
    private var lifetimeWarnings = LogThrottle(seconds: 60)
    /// Of the exchange in flight, see ``TokenConnections``; nil when no exchange is in flight.
    private var number: Int?
    private var isWaiting = false
    private var isClosed = false

    private(set) var generation = 0
    let fingerprint: UInt64
    private(set) var headers: RequestHeaders
    var projectID: String? { credential.projectID }

    var onChange: () -> Void = {}

    /// - Throws: why the credential's key cannot be used.
    convenience init(project: ProjectContext, credential: Credential, origin: OriginConfiguration) throws {
        let endpoints = TokenEndpoints(
            loop: project.loop,
            origin: origin,
            pools: project.pools,
            connections: project.tokenConnections
        )
        try self.init(project: project, credential: credential, endpoints: endpoints) { SystemClock.bootMs }
    }

    /// - Throws: why the credential's key cannot be used.
    init(
        project: ProjectContext,
        credential: Credential,
        endpoints: any TokenRequests,
        nowMs: @escaping () -> Int64
    ) throws {
        self.project = project
        self.endpoints = endpoints
        self.nowMs = nowMs
        self.credential = credential
        fingerprint = CredentialFingerprint.of(credential)
        signer = try credential.privateKey.map { try RS256Signer(pem: $0) }
        exchange = TokenExchange(credential, nowSeconds: 0)
        headers = RequestHeaders(authorization: "", isOAuth: true, senderID: "")
        reader = SubjectTokenReader(loop: project.loop)
        endpoints.onCompletion = { [weak self] outcome in self?.completed(outcome) }
    }

    func start() {
        project.logger.info("The project's identity.", metadata: ["credential": "\(credential)"])
        poll()
        project.every(milliseconds: 1_000) { [weak self] in self?.poll() }
    }

    func close() {
        isClosed = true
        endpoints.close()
        end()
        reader.close()
    }

    func readiness() -> SendGate.Credential {
        poll()
        switch machine.readiness(nowMs: nowMs()) {
        case .ready: return .ready
        case .wait: return .pending
        case .failed(let reason):
            return .failed(
                Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: reason, httpStatus: 0)
            )
        }
    }

    var isFresh: Bool { machine.isFresh(nowMs: nowMs()) }
    var isStuck: Bool { machine.isStuck(nowMs: nowMs()) }

    func refused(_ generation: Int) { machine.refused(generation) }
    func renew(_ generation: Int) { machine.renew(generation) }
    func retryFailed() { machine.forceRetry() }

    private func poll() {
        var next = machine
        guard !isClosed, next.beginFetchIfDue(nowMs: nowMs()) else { return }
        let room = { [weak self] in
            self?.isWaiting = false
            self?.poll()
        }
        number = project.tokenConnections.begin(nowMs: nowMs(), room: isWaiting ? nil : room)
        guard number != nil else { return isWaiting = true }
        machine = next
        let unixMs = clock.sign(nowMs: nowMs(), machineUnixMs: SystemClock.nowMs)
        exchange = TokenExchange(credential, nowSeconds: unixMs / 1_000)
        perform(exchange.start(), after: nil)
    }

    // MARK: One exchange

    /// Performs an action and the actions that follow from it, up to the next request or file, or the end of the
    /// exchange.
    ///
    /// - Parameter answer: the HTTP answer that led to the action; nil if none did.
    private func perform(_ first: TokenExchange.Action, after answer: HTTPAnswer?) {
        var action = first
        while true {
            switch action {
            case .readFile(let path): return read(path)
            case .sign(let input): action = sign(input)
            case .send(let call): return endpoints.send(call, timeoutMs: project.configuration.requestTimeoutMs)
            case .granted(let token): return granted(token)
            case .failed(let error): return failed(error, answer)
            }
        }
    }

    private func read(_ path: String) {
        reader.read(path, timeoutMs: project.configuration.requestTimeoutMs) { [weak self] answer in
            guard let self else { return }
            switch answer {
            case .read(let bytes): perform(exchange.fileRead(bytes), after: nil)
            case .failed(let fault): perform(exchange.fileRead(nil, fault: fault), after: nil)
            }
        }
    }

    /// Takes about a millisecond of CPU once an hour: not worth a thread to hand the key to.
    private func sign(_ input: [UInt8]) -> TokenExchange.Action {
        guard let signer else { return .failed(TokenError(signing: "there is none")) }
        do throws(OpenSSLError) {
            return exchange.signed(try signer.sign(input))
        } catch {
            return .failed(TokenError(signing: "\(error)"))
        }
    }

    /// The exchange is over.
    private func end() {
        guard let number else { return }
        self.number = nil
        project.tokenConnections.end(number)
    }

    private func completed(_ outcome: RequestOutcome) {
        guard case .answered(let answer) = outcome else {
            end()
            project.observe(outcome, of: .tokenEndpoint)
            machine.fetchDelayed(nowMs: nowMs(), jitter: .random(in: 0...1))
            return onChange()
        }
        // An answer of an earlier step does not end the outage of a later one.
        var endsOutage = exchange.isLast
        let action = exchange.answered(answer, unixMs: SystemClock.nowMs)
        // Nor does an answer that `failed` counts towards an outage of this worker.
        if case .failed(let error) = action, error.kind == .worker { endsOutage = false }
        if endsOutage { project.observe(outcome, of: .tokenEndpoint) }
        perform(action, after: answer)
    }

    private func granted(_ token: AccessToken) {
        end()
        let nowMs = nowMs()
        clock.accepted()
        warn(of: token)
        machine.fetched(lifetimeMs: token.lifetimeMs, nowMs: nowMs)
        if case .ready(let current) = machine.readiness(nowMs: nowMs) { generation = current }
        headers = RequestHeaders(
            authorization: "Bearer \(token.value)",
            isOAuth: true,
            senderID: project.project.senderID ?? "",
            quotaProject: credential.quotaProjectID
        )
        onChange()
    }

    /// - Parameter answer: the answer that holds the error; nil if none does.
    private func failed(_ error: TokenError, _ answer: HTTPAnswer?) {
        end()
        let nowMs = nowMs()
        let jitter = Double.random(in: 0...1)
        if error.endpoint == .assertion, error.code == "invalid_grant", let answer, correctClock(by: answer, nowMs) {
            machine.fetchAgain()
            return poll()
        }
        let wait = RetryAfterParser.read(answer?.retryAfter, date: answer?.date, nowMs: SystemClock.nowMs)
        switch error.kind {
        case .retry:
            project.logger.warning(
                "There is no new access token for now; it is fetched again later.",
                metadata: ["error": "\(error.sentence)"]
            )
            machine.fetchDelayed(nowMs: nowMs, jitter: jitter, retryAfterMs: wait.leastMs)
        case .worker:
            // Other workers may be right, so the credential has not failed. Operators see it as an outage.
            if error.isAboutTime { clock.reset() }
            project.observe(.unsent(reason: Reason(error.sentence)), of: .tokenEndpoint)
            project.logger.error(
                "This worker gets no access token, so it sends nothing.",
                metadata: ["error": "\(error.sentence)", "machine_time_ms": "\(SystemClock.nowMs)"]
            )
            machine.fetchDelayed(nowMs: nowMs, jitter: jitter, retryAfterMs: wait.leastMs)
        case .blocked:
            project.logger.error("The credential was refused.", metadata: ["error": "\(error.sentence)"])
            machine.fetchRefused(reason: error.sentence, nowMs: nowMs, jitter: jitter)
        }
        onChange()
    }

    /// Sends wait for the next token when one is granted for a few seconds or none.
    private func warn(of token: AccessToken) {
        guard let fault = token.lifetimeFault, lifetimeWarnings.admits(now: project.loop.now) else { return }
        project.logger.warning(
            "The token endpoint's expires_in is unusable: a token is fetched once in 10 s at most. Check token_uri.",
            metadata: ["expires_in": "\(fault)", "used_for_s": "\(token.expiresInSeconds)"]
        )
    }

    /// - Returns: whether a new request will be signed by another time than the refused one.
    private func correctClock(by answer: HTTPAnswer, _ nowMs: Int64) -> Bool {
        let endpointUnixMs = answer.date.flatMap { HTTPDate.milliseconds($0.utf8, nowMs: SystemClock.nowMs) }
        guard let aheadMs = clock.correct(endpointUnixMs: endpointUnixMs, nowMs: nowMs) else { return false }
        project.logger.warning(
            "This machine's clock differs from the token endpoint's, whose time is signed with: set it by NTP.",
            metadata: ["ahead_ms": "\(aheadMs)"]
        )
        return true
    }
}
