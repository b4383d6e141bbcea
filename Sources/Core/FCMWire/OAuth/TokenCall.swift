internal import FanfareJSON
public import FanfareModel

/// The endpoints on the way to an access token.
public enum TokenEndpoint: String, Equatable, Sendable {
    /// Takes an assertion that a service account's key signed (RFC 7523).
    case assertion = "the token endpoint"
    /// Takes a refresh token (RFC 6749).
    case refresh = "the refresh endpoint"
    /// Google's Security Token Service (RFC 8693).
    case sts = "STS"
    /// `generateAccessToken` of the IAM Credentials API.
    case impersonation = "generateAccessToken"
    /// The file or URL of an external account's subject token.
    case subjectToken = "the subject token"
    case metadata = "the metadata server"
}

/// One request on the way to an access token.
public struct TokenCall: Equatable, Sendable, Redacted {
    public let endpoint: TokenEndpoint
    public let method: HTTPMethod
    public let url: String
    /// Lines of the form `Name: value`.
    public let headers: [String]
    public let body: [UInt8]

    /// Whether the URL may be plain HTTP.
    public var allowsPlainHTTP: Bool { endpoint == .metadata || endpoint == .subjectToken }

    public var description: String { "request to \(endpoint.rawValue)" }

    private static let form = "Content-Type: application/x-www-form-urlencoded"
    private static let cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

    /// - Parameter isFinal: whether the token is for FCM; otherwise it is for a next step.
    static func scope(isFinal: Bool) -> String { isFinal ? TokenRequest.scope : cloudPlatform }

    static func assertion(_ account: ServiceAccount, input: [UInt8], signature: [UInt8]) -> TokenCall {
        TokenCall(
            endpoint: .assertion,
            method: .post,
            url: account.tokenURI,
            headers: [form],
            body: TokenRequest.body(signingInput: input, signature: signature)
        )
    }

    /// Asks for no scope: the token has the scopes that the user granted.
    static func refresh(_ user: AuthorizedUser) -> TokenCall {
        let pairs = [
            ("grant_type", "refresh_token"), ("client_id", user.client.id), ("client_secret", user.client.secret),
            ("refresh_token", user.refreshToken),
        ]
        return TokenCall(
            endpoint: .refresh,
            method: .post,
            url: user.tokenURI,
            headers: [form],
            body: encoded(pairs)
        )
    }

    static func exchange(_ account: ExternalAccount, subjectToken: String, isFinal: Bool) -> TokenCall {
        var pairs = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("audience", account.audience),
            ("scope", scope(isFinal: isFinal)),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token", subjectToken), ("subject_token_type", account.subjectTokenType),
        ]
        // A client names its own project.
        if let project = account.userProject, account.client == nil {
            let options = JSONValue.object(["userProject": .string(project)]).jsonText
            pairs.append(("options", options.percentEncoded))
        }
        return TokenCall(
            endpoint: .sts,
            method: .post,
            url: account.tokenURL,
            headers: [form] + (account.client.map { ["Authorization: \($0.basic)"] } ?? []),
            body: encoded(pairs)
        )
    }

    static func impersonation(_ target: Impersonation, accessToken: String) -> TokenCall {
        var object: JSONObject = ["scope": .array([.string(TokenRequest.scope)])]
        object["lifetime"] = .string("\(target.lifetimeSeconds)s")
        if !target.delegates.isEmpty { object["delegates"] = .array(target.delegates.map { .string($0) }) }
        return TokenCall(
            endpoint: .impersonation,
            method: .post,
            url: target.url,
            headers: ["Authorization: Bearer \(accessToken)", "Content-Type: application/json"],
            body: JSONValue.object(object).jsonBytes
        )
    }

    static func subjectToken(_ url: String, headers: [String]) -> TokenCall {
        TokenCall(endpoint: .subjectToken, method: .get, url: url, headers: headers, body: [])
    }

    static func metadata(_ server: MetadataServer) -> TokenCall {
        let headers = [MetadataServer.header]
        return TokenCall(endpoint: .metadata, method: .get, url: server.tokenURL, headers: headers, body: [])
    }

    private static func encoded(_ pairs: [(name: String, value: String)]) -> [UInt8] {
        var body: [UInt8] = []
        for pair in pairs {
            if !body.isEmpty { body.append(UInt8(ascii: "&")) }
            body.append(contentsOf: pair.name.utf8)
            body.append(UInt8(ascii: "="))
            body.appendPercentEncoded(pair.value)
        }
        return body
    }
}
