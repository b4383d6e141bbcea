internal import FanfareJSON
public import FanfareModel

/// The exchange of a signed claim for an access token (RFC 7523). The signature is made elsewhere, between
/// ``signingInput(account:nowSeconds:)`` and ``body(signingInput:signature:)``.
public enum TokenRequest {
    public static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest validity that Google accepts for a claim.
    public static let claimSeconds: Int64 = 3_600

    /// The bytes to sign with RSASSA-PKCS1-v1_5 and SHA-256.
    public static func signingInput(account: ServiceAccount, nowSeconds: Int64) -> [UInt8] {
        var header: JSONObject = ["alg": "RS256", "typ": "JWT"]
        if let id = account.privateKeyID { header["kid"] = .string(id) }
        let claims: JSONObject = [
            "iss": .string(account.clientEmail),
            "scope": .string(scope),
            "aud": .string(account.tokenURI),
            "iat": .number(JSONNumber(nowSeconds)),
            "exp": .number(JSONNumber(nowSeconds + claimSeconds)),
        ]
        var input = Base64.encodeURL(JSONValue.object(header).jsonBytes)
        input.append(UInt8(ascii: "."))
        input.append(contentsOf: Base64.encodeURL(JSONValue.object(claims).jsonBytes))
        return input
    }

    /// The form to post to the token endpoint as `application/x-www-form-urlencoded`. A JSON Web Token consists of
    /// characters that need no escaping there.
    public static func body(signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        var body = Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
        body.append(contentsOf: signingInput)
        body.append(UInt8(ascii: "."))
        body.append(contentsOf: Base64.encodeURL(signature))
        return body
    }

    /// Reads the endpoint's answer.
    public static func parse(_ answer: HTTPAnswer) -> Result<AccessToken, TokenError> {
        let limits = JSONLimits(maxDepth: 16, maxBytes: 65_536)
        let object = answer.isComplete ? (try? JSONParser.parse(answer.body, limits: limits))?.object : nil
        guard answer.status == 200 else { return .failure(refusal(status: answer.status, object)) }
        guard let object else { return .failure(unusable("the answer is not a complete JSON object")) }
        guard let value = object["access_token"]?.string, !value.isEmpty else {
            return .failure(unusable("the answer has no access_token"))
        }
        // It goes into a header line: anything but visible ASCII could end that line or start another.
        guard value.utf8.count <= 16_384, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return .failure(unusable("the access_token holds characters that a header cannot"))
        }
        if let type = object["token_type"]?.string, type.lowercased() != "bearer" {
            return .failure(unusable("the token_type is not Bearer"))
        }
        let (seconds, trouble) = lifetime(object["expires_in"])
        return .success(AccessToken(value: value, expiresInSeconds: seconds, lifetimeTrouble: trouble))
    }

    /// Shortest lifetime without a warning: a shorter token ends before it may be renewed, or soon after.
    private static let shortSeconds: Int64 = 20

    /// The lifetime in seconds, from a number or a text, an hour if it is missing or unreadable; and the trouble with
    /// it, nil if there is none.
    private static func lifetime(_ value: JSONValue?) -> (seconds: Int64, trouble: String?) {
        let (seconds, said): (Double?, String)
        switch value {
        case .number(let number): (seconds, said) = (number.double, number.text)
        case .string(let text): (seconds, said) = (Double(text), text)
        case nil: (seconds, said) = (nil, "missing")
        default: (seconds, said) = (nil, "no number")
        }
        guard let seconds, !seconds.isNaN else { return (3_600, RawError.clean(said)) }
        let bounded = Int64(max(0, min(seconds, 86_400)))
        return (bounded, bounded < shortSeconds ? RawError.clean(said) : nil)
    }

    private static func refusal(status: Int, _ object: JSONObject?) -> TokenError {
        let code = object?["error"]?.string ?? ""
        let detail = object?["error_description"]?.string ?? ""
        let isTransient =
            status == 408 || status == 429 || (500...599).contains(status)
            || ["internal_failure", "server_error", "temporarily_unavailable"].contains(code)
        return TokenError(
            status: status,
            code: RawError.clean(code),
            detail: RawError.clean(detail),
            isRetryable: isTransient
        )
    }

    /// A 200 that is no answer: a proxy's page, or a body cut short. The credential is not to blame.
    private static func unusable(_ detail: String) -> TokenError {
        TokenError(status: 200, code: "", detail: detail, isRetryable: true)
    }
}

/// An access token, valid for about an hour. Its value never appears in a description.
public struct AccessToken: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Visible ASCII only: safe in a header line.
    public let value: String
    /// 0 to 86,400.
    public let expiresInSeconds: Int64
    /// The endpoint's `expires_in` if it is missing, unreadable, 0 or too short to send with; nil if it is in order.
    public private(set) var lifetimeTrouble: String?

    public var lifetimeMs: Int64 { expiresInSeconds * 1_000 }
    public var description: String { "access token for \(expiresInSeconds) s" }
    public var customMirror: Mirror { Mirror(self, children: ["expiresInSeconds": expiresInSeconds]) }
}

/// Why there is no token.
public struct TokenError: Error, Equatable, Sendable, CustomStringConvertible {
    public let status: Int
    /// OAuth's own code such as `invalid_grant`; empty when there was none.
    public let code: String
    /// The endpoint's explanation, cleaned for logs.
    public let detail: String
    /// False when a person must act: a deleted key, a wrong clock, a missing right.
    public let isRetryable: Bool

    /// The claim's times did not suit the endpoint: a clock is wrong, here or there, and not the credential. Google's
    /// words are "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your
    /// iat and exp values in the JWT claim."
    public var isAboutTime: Bool {
        guard code == "invalid_grant" else { return false }
        let words = detail.lowercased().split { !$0.isLetter }
        return words.contains { ["iat", "exp", "nbf", "timeframe", "expired"].contains($0) }
    }

    public var description: String {
        let parts = [code, detail].filter { !$0.isEmpty }.joined(separator: ": ")
        return parts.isEmpty ? "HTTP \(status)" : "HTTP \(status): \(parts)"
    }
}
