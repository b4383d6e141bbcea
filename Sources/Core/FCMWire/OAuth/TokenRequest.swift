internal import FanfareJSON
internal import FanfareModel

/// The exchange of a signed claim for an access token (RFC 7523). The signature is made elsewhere, between
/// ``signingInput(account:nowSeconds:)`` and ``body(signingInput:signature:)``.
public enum TokenRequest {
    public static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest validity that Google accepts for a claim.
    public static let claimSeconds: Int64 = 3_600

    /// The bytes to sign with RSASSA-PKCS1-v1_5 and SHA-256.
    public static func signingInput(
        account: ServiceAccount,
        nowSeconds: Int64,
        scope: String = TokenRequest.scope
    ) -> [UInt8] {
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
}
