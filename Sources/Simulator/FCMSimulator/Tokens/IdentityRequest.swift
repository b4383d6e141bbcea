import FanfareJSON

/// The fields of a form that is posted to a token endpoint.
struct TokenForm: Equatable, Sendable {
    private let fields: [ExactText: String]

    init(_ body: [UInt8]) throws(OAuthError) {
        guard let pairs = FormText.pairs(body) else { throw OAuthError("invalid_request", "Bad Request") }
        fields = Dictionary(pairs.map { (ExactText($0.name), $0.value) }, uniquingKeysWith: { $1 })
    }

    /// nil for an empty field too.
    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
}

/// A request for an access token without a signature: how identities without a service account's key get one.
enum IdentityRequest: Equatable, Sendable {
    /// `POST /token` with a refresh token.
    case refresh(clientID: String, clientSecret: String, refreshToken: String)
    /// `POST /v1/token`: the Security Token Service exchanges another provider's token (RFC 8693).
    case exchange(audience: String, subjectToken: String, scopes: TokenScopes)
    /// `POST /v1/projects/-/serviceAccounts/{email}:generateAccessToken`
    case impersonate(email: String, lifetimeSeconds: Int64, scopes: TokenScopes)

    private static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
    private static let subjectTypes: Set = [
        "urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token",
        "urn:ietf:params:oauth:token-type:id-token", "urn:ietf:params:oauth:token-type:saml2",
    ]

    static func refresh(_ form: TokenForm) throws(OAuthError) -> IdentityRequest {
        guard let id = form["client_id"], let secret = form["client_secret"] else {
            throw OAuthError("invalid_request", "Could not determine client ID from request.")
        }
        guard let token = form["refresh_token"] else {
            throw OAuthError("invalid_request", "Missing required parameter: refresh_token")
        }
        return .refresh(clientID: id, clientSecret: secret, refreshToken: token)
    }

    static func exchange(_ body: [UInt8]) throws(OAuthError) -> IdentityRequest {
        let form = try TokenForm(body)
        guard form["grant_type"] == exchangeGrant else {
            throw OAuthError("unsupported_grant_type", "Invalid value for \"grant_type\".")
        }
        guard form["requested_token_type"] ?? accessTokenType == accessTokenType else {
            throw OAuthError("invalid_request", "Invalid value for \"requested_token_type\".")
        }
        guard let audience = form["audience"] else {
            throw OAuthError("invalid_request", "Invalid value for \"audience\".")
        }
        guard let type = form["subject_token_type"], subjectTypes.contains(type) else {
            throw OAuthError("invalid_request", "Invalid value for \"subject_token_type\".")
        }
        guard let token = form["subject_token"] else {
            throw OAuthError("invalid_request", "Invalid value for \"subject_token\".")
        }
        guard let scopes = TokenScopes((form["scope"] ?? "").split(separator: " ")) else {
            throw OAuthError("invalid_scope", "The scope is missing or unknown.")
        }
        return .exchange(audience: audience, subjectToken: token, scopes: scopes)
    }

    static func impersonate(email: String, _ body: [UInt8]) throws(APIError) -> IdentityRequest {
        let object = try JSONObject(body, limits: JSONLimits(maximumDepth: 8, maximumBytes: 65_536)) { _ in
            APIError(.invalidArgument, "Invalid JSON payload received.")
        }
        let names = object["scope"]?.array?.compactMap(\.string) ?? []
        guard let scopes = TokenScopes(names) else { throw APIError(.invalidArgument, "Invalid scope.") }
        let delegates = object["delegates"]?.array ?? []
        guard delegates.allSatisfy({ $0.string?.hasPrefix("projects/-/serviceAccounts/") == true }) else {
            throw APIError(.invalidArgument, "Invalid form of delegates.")
        }
        let lifetime = object["lifetime"]?.string ?? "3600s"
        guard lifetime.hasSuffix("s"), let seconds = Int64(lifetime.dropLast()), (1...3_600).contains(seconds) else {
            let rule = "The requested lifetime must be at most 3600s."
            throw APIError(.invalidArgument, rule)
        }
        return .impersonate(email: email, lifetimeSeconds: seconds, scopes: scopes)
    }
}

/// What a project's identities without a service account's key present.
public struct SimulatedIdentity: Equatable, Sendable {
    /// The provider of the workload identity pool, as the STS's `audience`.
    public var audience: String
    /// The token that the provider accepts.
    public var subjectToken: String
    /// The OAuth client and the login of a user.
    public var clientID: String
    public var clientSecret: String
    public var refreshToken: String

    public init(
        audience: String,
        subjectToken: String,
        clientID: String,
        clientSecret: String,
        refreshToken: String
    ) {
        (self.audience, self.subjectToken) = (audience, subjectToken)
        (self.clientID, self.clientSecret, self.refreshToken) = (clientID, clientSecret, refreshToken)
    }
}
