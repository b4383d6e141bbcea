import FanfareJSON

/// A request to exchange a signed assertion for an access token (RFC 7523). The caller checks the signature.
public struct TokenRequest: Equatable, Sendable {
    /// `iss`: the account whose key signed.
    public var email: String
    /// The signed bytes.
    public var signingInput: [UInt8]
    public var signature: [UInt8]
    var claims: JSONObject

    static func read(_ body: [UInt8]) throws(TokenRefusal) -> TokenRequest {
        guard let pairs = FormText.pairs(body) else { throw TokenRefusal("invalid_request", "Bad Request") }
        let grant = pairs.last { $0.name == "grant_type" }?.value ?? ""
        guard grant == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            throw TokenRefusal("unsupported_grant_type", "Invalid grant_type: \(grant.prefix(100))")
        }
        guard let assertion = pairs.last(where: { $0.name == "assertion" })?.value else {
            throw TokenRefusal("invalid_request", "Missing required parameter: assertion")
        }
        let parts = assertion.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
            let signature = Base64Text.decodeURL(parts[2])
        else { throw TokenRefusal("invalid_grant", "Invalid JWT: malformed.") }
        guard header["alg"] == "RS256" else {
            throw TokenRefusal("invalid_grant", "Invalid JWT: only RS256 is accepted.")
        }
        guard let email = claims["iss"]?.nonEmptyString else {
            throw TokenRefusal("invalid_grant", "Invalid JWT: Missing 'iss'.")
        }
        let input = Array(assertion.utf8.prefix(parts[0].count + 1 + parts[1].count))
        return TokenRequest(email: email, signingInput: input, signature: signature, claims: claims)
    }

    /// Checks audience, times and scope; returns whether the scope allows sending.
    func scope(audiences: Set<String>, nowMs: Int64) throws(TokenRefusal) -> Bool {
        guard let audience = claims["aud"]?.string, audiences.contains(audience) else {
            throw TokenRefusal("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let now = nowMs / 1_000
        let skew: Int64 = 600
        guard let issued = claims["iat"]?.number?.wholeInt64, let expires = claims["exp"]?.number?.wholeInt64,
            issued <= now + skew, issued > now - 3_600 - skew, expires > now - skew, expires > issued,
            expires - issued <= 3_600
        else {
            throw TokenRefusal(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
        let scopes = (claims["scope"]?.string ?? "").split(separator: " ")
        guard !scopes.isEmpty, scopes.allSatisfy({ $0.hasPrefix("https://www.googleapis.com/auth/") }) else {
            throw TokenRefusal("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return scopes.contains { $0.hasSuffix("/firebase.messaging") || $0.hasSuffix("/cloud-platform") }
    }

    private static func object(_ part: some Collection<UInt8>) -> JSONObject? {
        guard let bytes = Base64Text.decodeURL(part) else { return nil }
        return (try? JSONParser.parse(bytes, limits: JSONLimits(maxDepth: 8, maxBytes: 65_536)))?.object
    }
}

/// The token endpoint's `error` and `error_description`.
struct TokenRefusal: Error, Equatable, Sendable {
    var error: String
    var description: String

    init(_ error: String, _ description: String) {
        self.error = error
        self.description = description
    }

    var reply: SimulatorReply {
        SimulatorReply(status: 400, object: ["error": .string(error), "error_description": .string(description)])
    }
}
