/// A request that was read and checked as far as that needs no state: its path, its body's shape and its rules. Reading
/// is the costly part, so a server does it outside its lock.
public struct ReadRequest: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case v1(project: String, Result<V1Send, APIError>)
        case legacy(Result<LegacySend, LegacyRequestError>)
        case topics(Result<TopicRequest, TopicError>)
        case group(Result<GroupRequest, GroupError>)
        case token(Result<TokenRequest, OAuthError>)
        case identity(Result<IdentityRequest, IdentityError>)
        case metadata
        case subscription(project: String, Result<SubscriptionRequest, APIError>)
        case info(token: String, details: Bool)
        case notFound
        case wrongMethod(allowed: String)
    }

    public let request: SimulatorRequest
    let kind: Kind

    public init(_ request: SimulatorRequest) {
        self.request = request
        kind = Self.kind(of: request)
    }

    /// The request for an access token, if its assertion is well formed. The caller checks the signature.
    public var tokenRequest: TokenRequest? {
        if case .token(.success(let request)) = kind { return request }
        return nil
    }

    /// Whether an access token is issued without a signature.
    public var needsToken: Bool {
        switch kind {
        case .identity, .metadata: true
        default: false
        }
    }

    private static func kind(of request: SimulatorRequest) -> Kind {
        if Simulator.isMetadata(request) { return .metadata }
        switch request.path {
        case "/fcm/send":
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            let isJSON = request.contentType?.lowercased().hasPrefix("application/json") == true
            return .legacy(
                isJSON ? Result(try LegacyRequest.read(request.body)) : Result(try PlainTextRequest.read(request.body))
            )
        case "/token":
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            return tokenKind(request.body)
        case "/v1/token":
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            return .identity(Result(try IdentityRequest.exchange(request.body)).mapError { .oauth($0) })
        case "/iid/v1:batchAdd", "/iid/v1:batchRemove":
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            let isAdding = request.path == "/iid/v1:batchAdd"
            return .topics(Result(try TopicRequest.read(request.body, isAdding: isAdding)))
        case "/fcm/notification":
            switch request.method {
            case "GET": return .group(Result(try GroupRequest.read(query: request.query)))
            case "POST": return .group(Result(try GroupRequest.read(request.body)))
            default: return .wrongMethod(allowed: "GET, POST")
            }
        default: break
        }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 4, parts[1] == "iid", parts[2] == "info" { return info(request, token: parts[3]) }
        guard parts.count >= 5, parts[1] == "v1", parts[2] == "projects" else { return .notFound }
        if parts.count == 5, parts[4] == "messages:send" {
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            return .v1(project: String(parts[3]), Result(try V1Request.read(request.body)))
        }
        let action = ":generateAccessToken"
        if parts.count == 6, parts[3] == "-", parts[4] == "serviceAccounts", parts[5].hasSuffix(action) {
            guard request.method == "POST" else { return .wrongMethod(allowed: "POST") }
            let email = FormText.unescaped(parts[5].dropLast(action.count)) ?? ""
            return .identity(Result(try IdentityRequest.impersonate(email: email, request.body)).mapError { .api($0) })
        }
        guard parts[4] == "registrations", let found = SubscriptionRequest.read(request, path: parts[5...]) else {
            return .notFound
        }
        guard let result = found.result else { return .wrongMethod(allowed: found.allowed) }
        return .subscription(project: String(parts[3]), result)
    }

    private static func tokenKind(_ body: [UInt8]) -> Kind {
        do throws(OAuthError) {
            let form = try TokenForm(body)
            switch form["grant_type"] ?? "" {
            case "urn:ietf:params:oauth:grant-type:jwt-bearer": return .token(Result(try TokenRequest.read(form)))
            case "refresh_token":
                return .identity(Result(try IdentityRequest.refresh(form)).mapError { .oauth($0) })
            case let grant:
                throw OAuthError("unsupported_grant_type", "Invalid grant_type: \(grant.prefix(100))")
            }
        } catch {
            return .token(.failure(error))
        }
    }

    private static func info(_ request: SimulatorRequest, token: Substring) -> Kind {
        guard request.method == "GET" else { return .wrongMethod(allowed: "GET") }
        let details = FormText.value("details", in: request.query)
        return .info(token: FormText.unescaped(token) ?? "", details: details == "true")
    }

    /// Whether a token, fid or `to` of this request has the prefix; false for a request that is not well formed.
    func hasToken(prefix: String) -> Bool {
        switch kind {
        case .v1(_, .success(let send)):
            switch send.target {
            case .token(let name), .fid(let name): return name.hasExactPrefix(prefix)
            case .audience: return false
            }
        case .legacy(.success(let send)):
            switch send.target {
            case .single(let token): return token.hasExactPrefix(prefix)
            case .multicast(let tokens): return tokens.contains { $0.hasExactPrefix(prefix) }
            case .audience: return false
            }
        case .topics(.success(let change)): return change.tokens.contains { $0.hasExactPrefix(prefix) }
        case .group(.success(let change)): return change.tokens.contains { $0.hasExactPrefix(prefix) }
        case .subscription(_, .success(let change)): return change.registration.hasExactPrefix(prefix)
        case .info(let token, _): return token.hasExactPrefix(prefix)
        default: return false
        }
    }
}

extension Result {
    /// The value of an expression, or the error it throws.
    fileprivate init(_ value: @autoclosure () throws(Failure) -> Success) { self.init(catching: value) }
}
