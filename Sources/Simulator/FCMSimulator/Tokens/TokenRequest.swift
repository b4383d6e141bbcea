import FanfareJSON
import FanfareModel

/// A request to exchange a signed assertion for an access token (RFC 7523). The caller checks the signature.
public struct TokenRequest: Equatable, Sendable {
    /// `iss`: the account whose key signed.
    public var email: String
    /// The signed bytes.
    public var signingInput: [UInt8]
    public var signature: [UInt8]
    var claims: JSONObject

    static func read(_ form: TokenForm) throws(OAuthError) -> TokenRequest {
        guard let assertion = form["assertion"] else {
            throw OAuthError("invalid_request", "Missing required parameter: assertion")
        }
        let parts = assertion.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else { throw OAuthError("invalid_grant", "Invalid JWT: malformed.") }
        guard header["alg"] == "RS256" else {
            throw OAuthError("invalid_grant", "Invalid JWT: only RS256 is accepted.")
        }
        guard let email = claims["iss"]?.nonEmptyString else {
            throw OAuthError("invalid_grant", "Invalid JWT: Missing 'iss'.")
        }
        let input = Array(assertion.utf8.prefix(parts[0].count + 1 + parts[1].count))
        return TokenRequest(email: email, signingInput: input, signature: signature, claims: claims)
    }

    /// Checks audience, times and scope.
    func scopes(audiences: Set<String>, nowMs: Int64) throws(OAuthError) -> TokenScopes {
        guard let audience = claims["aud"]?.string, audiences.contains(audience) else {
            throw OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let now = nowMs / 1_000
        let skew: Int64 = 600
        guard let issued = claims["iat"]?.number?.wholeInt64, let expires = claims["exp"]?.number?.wholeInt64,
            issued <= now + skew, issued > now - 3_600 - skew, expires > now - skew, expires > issued,
            expires - issued <= 3_600
        else {
            throw OAuthError(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
        guard let scopes = TokenScopes((claims["scope"]?.string ?? "").split(separator: " ")) else {
            throw OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return scopes
    }

    private static func object(_ part: some Collection<UInt8>) -> JSONObject? {
        guard let bytes = Base64.decodeURL(part) else { return nil }
        return (try? JSONParser.parse(bytes, limits: JSONLimits(maximumDepth: 8, maximumBytes: 65_536)))?.object
    }
}

/// The token endpoint's `error` and `error_description`.
struct OAuthError: Error, Equatable, Sendable {
    var error: String
    var description: String
    var status: Int

    init(_ error: String, _ description: String, status: Int = 400) {
        self.error = error
        self.description = description
        self.status = status
    }

    var reply: SimulatorReply {
        SimulatorReply(status: status, object: ["error": .string(error), "error_description": .string(description)])
    }
}
