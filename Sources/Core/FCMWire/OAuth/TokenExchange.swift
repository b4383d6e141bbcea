public import FanfareModel

/// One exchange of a credential for an access token, as a chain of steps: events go in, actions come out.
///
/// A service account's key signs an assertion; a refresh token is posted; a subject token is read and posted to the
/// Security Token Service; the metadata server is asked. If another service account is to be used,
/// `generateAccessToken` follows. The chain starts again for each access token, so that a rotated subject token is read
/// each time.
public struct TokenExchange: Sendable, Redacted {
    public enum Action: Equatable, Sendable {
        /// Read this file of at most ``Credential/maximumBytes``; answer with ``fileRead(_:)``.
        case readFile(String)
        /// Sign with RSASSA-PKCS1-v1_5 and SHA-256; answer with ``signed(_:)``.
        case sign([UInt8])
        /// Send the request; answer with ``answered(_:unixMs:)``.
        case send(TokenCall)
        case granted(AccessToken)
        case failed(TokenError)
    }

    private enum Step: Sendable {
        case assertion(ServiceAccount)
        case refresh(AuthorizedUser)
        case subjectFile(String, field: String?)
        case subjectURL(String, headers: [String], field: String?)
        case sts(ExternalAccount)
        case impersonation(Impersonation, role: String)
        case metadata(MetadataServer)
    }

    private let steps: [Step]
    private let nowSeconds: Int64
    private var index = 0
    /// Signed by the step in progress.
    private var signingInput: [UInt8] = []
    /// The token that the last step brought.
    private var token = ""

    /// - Parameter nowSeconds: the Unix time to sign with.
    public init(_ credential: Credential, nowSeconds: Int64) {
        steps = Self.steps(credential)
        self.nowSeconds = nowSeconds
    }

    private static func steps(_ credential: Credential) -> [Step] {
        switch credential {
        case .serviceAccount(let account): return [.assertion(account)]
        case .authorizedUser(let user): return [.refresh(user)]
        case .metadata(let server): return [.metadata(server)]
        case .impersonated(let account):
            let role = "roles/iam.serviceAccountTokenCreator"
            return steps(account.source.credential) + [.impersonation(account.target, role: role)]
        case .externalAccount(let account):
            let subject: Step =
                switch account.source {
                case .file(let path): .subjectFile(path, field: account.tokenField)
                case .url(let url, let headers): .subjectURL(url, headers: headers, field: account.tokenField)
                }
            let target = account.impersonation.map { Step.impersonation($0, role: "roles/iam.workloadIdentityUser") }
            return [subject, .sts(account)] + (target.map { [$0] } ?? [])
        }
    }

    /// The step in progress, without its secrets.
    public var description: String { "token exchange, step \(index + 1) of \(steps.count)" }

    /// Whether the request in progress is the chain's last.
    public var isLast: Bool { index == steps.count - 1 }

    public mutating func start() -> Action { enter() }

    private mutating func enter() -> Action {
        switch steps[index] {
        case .assertion(let account):
            let scope = TokenCall.scope(isFinal: isLast)
            signingInput = TokenRequest.signingInput(account: account, nowSeconds: nowSeconds, scope: scope)
            return .sign(signingInput)
        case .refresh(let user): return .send(.refresh(user))
        case .subjectFile(let path, _): return .readFile(path)
        case .subjectURL(let url, let headers, _): return .send(.subjectToken(url, headers: headers))
        case .sts(let account): return .send(.exchange(account, subjectToken: token, isFinal: isLast))
        case .impersonation(let target, _): return .send(.impersonation(target, accessToken: token))
        case .metadata(let server): return .send(.metadata(server))
        }
    }

    /// The signature of ``Action/sign(_:)``.
    public mutating func signed(_ signature: [UInt8]) -> Action {
        guard case .assertion(let account) = steps[index] else { return outOfOrder }
        return .send(.assertion(account, input: signingInput, signature: signature))
    }

    /// The bytes of ``Action/readFile(_:)``, or why they could not be read.
    public mutating func fileRead(_ bytes: [UInt8]?, fault: String = "") -> Action {
        guard case .subjectFile(_, let field) = steps[index] else { return outOfOrder }
        guard let bytes else {
            let detail = "credential_source.file: \(RawError.clean(fault))"
            let remedy = "mount the token file, or correct the path; the worker's user must be able to read it"
            return .failed(
                TokenError(endpoint: .subjectToken, status: 0, code: "", detail: detail, kind: .worker, remedy: remedy)
            )
        }
        return proceed(TokenRequest.subjectToken(bytes, field: field, place: "file"))
    }

    /// An HTTP answer to ``Action/send(_:)``.
    ///
    /// - Parameter unixMs: this machine's time.
    public mutating func answered(_ answer: HTTPAnswer, unixMs: Int64) -> Action {
        let secrets = secrets
        let action = read(answer, unixMs: unixMs)
        guard case .failed(let error) = action else { return action }
        return .failed(error.hiding(secrets))
    }

    /// What the request in progress tells its endpoint alone.
    private var secrets: [String] {
        switch steps[index] {
        case .assertion: [String(decoding: signingInput, as: UTF8.self)]
        case .refresh(let user): [user.client.secret, user.refreshToken]
        case .sts(let account): [token] + (account.client.map { [$0.secret, $0.basic] } ?? [])
        case .impersonation: [token]
        case .subjectFile, .subjectURL, .metadata: []
        }
    }

    private mutating func read(_ answer: HTTPAnswer, unixMs: Int64) -> Action {
        switch steps[index] {
        case .assertion: return proceed(TokenRequest.parse(answer, from: .assertion))
        case .refresh: return proceed(TokenRequest.parse(answer, from: .refresh))
        case .sts: return proceed(TokenRequest.parse(answer, from: .sts))
        case .metadata: return proceed(TokenRequest.parseMetadata(answer))
        case .impersonation(let target, let role):
            var advice = TokenAdvice(email: target.email, role: role)
            advice.hasDelegates = !target.delegates.isEmpty
            advice.isLong = target.lifetimeSeconds > 3_600
            return proceed(TokenRequest.parseImpersonation(answer, target, advice, unixMs: unixMs))
        case .subjectURL(_, _, let field):
            guard answer.status == 200 else {
                let body = TokenErrorBody(nil)
                return .failed(TokenAdvice().error(.subjectToken, status: answer.status, body))
            }
            guard answer.isComplete, answer.body.count <= Credential.maximumBytes else {
                return .failed(.unusable(.subjectToken, "the answer is cut short, or too large"))
            }
            return proceed(TokenRequest.subjectToken(answer.body, field: field, place: "url"))
        case .subjectFile: return outOfOrder
        }
    }

    private mutating func proceed(_ result: Result<AccessToken, TokenError>) -> Action {
        switch result {
        case .failure(let error): return .failed(error)
        case .success(let token):
            if isLast { return .granted(token) }
            return proceed(.success(token.value))
        }
    }

    private mutating func proceed(_ result: Result<String, TokenError>) -> Action {
        switch result {
        case .failure(let error): return .failed(error)
        case .success(let value):
            // A subject token alone opens nothing, so it is never the last step.
            guard !isLast else { return outOfOrder }
            (token, index) = (value, index + 1)
            return enter()
        }
    }

    /// An event that does not belong to the step in progress.
    private var outOfOrder: Action { .failed(.unusable(.assertion, "an event out of order")) }
}
