internal import FanfareJSON
internal import FanfareModel

/// A request to `POST /token` (RFC 7523): trades an assertion for an access token.
///
/// The token is the assertion itself. Gateways share no state and hold no secret, so any of them can check it.
public enum TokenGrant {
    /// The longest body. An assertion needs no escapes in a form, but may have them.
    public static let maximumBytes = 3 * AccessAssertion.maximumBytes + 1_024
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Why no token is granted, with the word of RFC 6749, section 5.2.
    ///
    /// Google's library for Python asks again if it reads `internal_failure`, `server_error` or
    /// `temporarily_unavailable` anywhere in the answer, so only ``unavailable(retryAfterMs:)`` has one of these words.
    public enum Fault: Error, Equatable, Sendable {
        case method
        case request(String)
        case grantType
        case assertion(AssertionFault)
        case manyWrongKeys(retrySeconds: Int)
        /// Other requests hold all memory that the gateway has for bodies.
        case unavailable(retryAfterMs: Int64)

        public var answer: ServedAnswer {
            switch self {
            case .method:
                TokenGrant.refusal(
                    "invalid_request",
                    "The path takes POST.",
                    405,
                    [ServedAnswer.Header("Allow", "POST")]
                )
            case .request(let rule): TokenGrant.refusal("invalid_request", rule)
            case .grantType:
                TokenGrant.refusal("unsupported_grant_type", "The only grant_type is \(TokenGrant.grantType).")
            case .assertion(let fault): TokenGrant.refusal("invalid_grant", fault.sentence)
            case .manyWrongKeys(let seconds):
                TokenGrant.refusal(
                    "invalid_request",
                    "Too many different wrong keys from this address.",
                    429,
                    [ServedAnswer.Header("Retry-After", String(seconds))]
                )
            case .unavailable(let wait):
                TokenGrant.refusal(
                    "temporarily_unavailable",
                    "Too many large requests at once.",
                    503,
                    [ServedAnswer.Header("Retry-After", String(GatewayError.seconds(wait)))]
                )
            }
        }
    }

    /// The assertion in a body. Other fields, such as `scope`, are ignored.
    ///
    /// - Parameter body: `application/x-www-form-urlencoded`, in any order.
    public static func assertion(in body: [UInt8]) throws(Fault) -> String {
        var fields: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&")).prefix(32) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let name = text(halves[0]), ["grant_type", "assertion"].contains(name) else {
                continue
            }
            guard let value = text(halves[1]) else { throw .request("\(name) is not form-encoded.") }
            guard fields.updateValue(value, forKey: name) == nil else { throw .request("\(name) is given twice.") }
        }
        guard let type = fields["grant_type"] else { throw .request("Missing required parameter: grant_type.") }
        guard type == grantType else { throw .grantType }
        guard let assertion = fields["assertion"], !assertion.isEmpty else {
            throw .request("Missing required parameter: assertion.")
        }
        return assertion
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        PercentDecoding.bytes(of: bytes, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Node renews a token with five minutes left or less, and reads an integer.
    public static func answer(_ assertion: String) -> ServedAnswer {
        .json(
            [
                "access_token": .string(assertion), "token_type": "Bearer",
                "expires_in": .number(JSONNumber(AccessAssertion.grantSeconds)),
            ],
            headers: uncached
        )
    }

    private static func refusal(
        _ error: String,
        _ sentence: String,
        _ status: Int = 400,
        _ headers: [ServedAnswer.Header] = []
    ) -> ServedAnswer {
        .json(
            ["error": .string(error), "error_description": .string(sentence)],
            status: status,
            headers: uncached + headers
        )
    }

    /// RFC 6749, section 5.1.
    private static let uncached = [
        ServedAnswer.Header("Cache-Control", "no-store"), ServedAnswer.Header("Pragma", "no-cache"),
    ]
}
