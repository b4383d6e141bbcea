internal import FanfareModel

/// Why there is no access token.
public struct TokenError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What follows from an error.
    public enum Kind: Equatable, Sendable {
        /// It passes by itself: the fetch is tried again.
        case retry
        /// The cause is on this machine or its network: its clock, its subject token, a missing file, a proxy's page. The
        /// fetch is tried again; other workers may send meanwhile.
        case worker
        /// The identity is refused: the project is blocked until an operator acts.
        case blocked
    }

    public let endpoint: TokenEndpoint
    /// 0 without an HTTP answer.
    public let status: Int
    /// OAuth's own code such as `invalid_grant`, or the status of a Google API such as `PERMISSION_DENIED`; empty when
    /// there was none.
    public let code: String
    /// The endpoint's explanation, cleaned for logs.
    public let detail: String
    public let kind: Kind
    /// What the operator does now; empty if the error passes by itself.
    public let remedy: String

    /// The error without what the endpoint repeats of these secrets.
    func hiding(_ secrets: [String]) -> TokenError {
        TokenError(
            endpoint: endpoint,
            status: status,
            code: SecretEcho.masked(code, secrets: secrets),
            detail: SecretEcho.masked(detail, secrets: secrets),
            kind: kind,
            remedy: remedy
        )
    }

    /// The assertion's times did not suit the endpoint: a clock is wrong, here or there, and not the credential. Google's
    /// words are "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your
    /// iat and exp values in the JWT claim."
    public var isAboutTime: Bool { endpoint == .assertion && Self.isAboutTime(code: code, detail: detail) }

    static func isAboutTime(code: String, detail: String) -> Bool {
        guard code == "invalid_grant" else { return false }
        let words = detail.lowercased().split { !$0.isLetter }
        return words.contains { ["iat", "exp", "nbf", "timeframe", "expired"].contains($0) }
    }

    public var description: String {
        let parts = [status == 0 ? "" : "HTTP \(status)", code, detail].filter { !$0.isEmpty }
        return parts.joined(separator: ": ")
    }

    /// The error with its endpoint and its remedy: all that the operator needs.
    public var sentence: String {
        "\(endpoint.rawValue): \(description)" + (remedy.isEmpty ? "" : "; \(remedy)")
    }

    /// The private key cannot sign an assertion.
    public init(signing fault: String) {
        self.init(
            endpoint: .assertion,
            status: 0,
            code: "",
            detail: "the private key cannot sign: \(RawError.clean(fault))",
            kind: .blocked,
            remedy: "make a new key for the service account and name its file in credentials"
        )
    }

    init(endpoint: TokenEndpoint, status: Int, code: String, detail: String, kind: Kind, remedy: String) {
        (self.endpoint, self.status, self.code, self.detail) = (endpoint, status, code, detail)
        (self.kind, self.remedy) = (kind, remedy)
    }

    /// A 200 that is no answer: a proxy's page, or a body cut short. The credential is not to blame.
    static func unusable(_ endpoint: TokenEndpoint, _ detail: String) -> TokenError {
        TokenError(endpoint: endpoint, status: 200, code: "", detail: detail, kind: .retry, remedy: "")
    }
}
