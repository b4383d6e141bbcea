import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct GatewayErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var refusal: GatewayError
        var status: Int
        var code: String
        var headers: [String] = []

        var testDescription: String { "\(refusal)" }
    }

    private static let challenge = #"WWW-Authenticate: Bearer realm="fanfare""#

    static let rows = [
        Row(refusal: .noKey, status: 401, code: "UNAUTHENTICATED", headers: [challenge]),
        Row(refusal: .wrongKey, status: 401, code: "UNAUTHENTICATED", headers: [challenge]),
        Row(
            refusal: .expiredToken,
            status: 401,
            code: "UNAUTHENTICATED",
            headers: [challenge + #", error="invalid_token""#]
        ),
        Row(
            refusal: .manyWrongKeys(retryAfterMs: 60_000),
            status: 429,
            code: "RESOURCE_EXHAUSTED",
            headers: ["Retry-After: 30"]
        ),
        Row(refusal: .project("other"), status: 403, code: "PERMISSION_DENIED"),
        Row(refusal: .right("push"), status: 403, code: "PERMISSION_DENIED"),
        Row(refusal: .route, status: 403, code: "PERMISSION_DENIED"),
        Row(refusal: .method(allowed: "POST"), status: 405, code: "INVALID_ARGUMENT", headers: ["Allow: POST"]),
        Row(refusal: .tooLarge(maximumBytes: 65_536), status: 413, code: "INVALID_ARGUMENT"),
        Row(refusal: .mediaType, status: 415, code: "INVALID_ARGUMENT"),
        Row(
            refusal: .rate(retryAfterMs: 1_001),
            status: 429,
            code: "RESOURCE_EXHAUSTED",
            headers: ["Retry-After: 2"]
        ),
        Row(
            refusal: .unavailable("Redis does not answer.", retryAfterMs: 0),
            status: 503,
            code: "UNAVAILABLE",
            headers: ["Retry-After: 1"]
        ),
    ]

    @Test(arguments: rows) func refusalHasGooglesFormAndNoFcmError(row: Row) throws {
        let answer = row.refusal.v1Answer
        #expect(answer.status == row.status)
        #expect(answer.status != 404)
        #expect(answer.headers.map { "\($0.name): \($0.value)" } == row.headers)
        let error = try #require(JSONParser.parse(answer.body).object?["error"]?.object)
        #expect(error["code"]?.number?.int64 == Int64(row.status))
        #expect(error["status"]?.string == row.code)
        #expect(error["message"]?.string?.isEmpty == false)
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("FcmError"))
    }

    @Test func onlyAnExpiredTokenAsksForANewOne() {
        let reasons = Self.rows.filter { $0.refusal.error.reason != nil }.map(\.refusal)
        #expect(reasons == [.expiredToken])
        let body = String(decoding: GatewayError.expiredToken.v1Answer.body, as: UTF8.self)
        #expect(body.contains(#""reason":"ACCESS_TOKEN_EXPIRED""#))
    }

    @Test func unknownProjectLooksLikeOneThatTheKeyMayNotUse() {
        let body = String(decoding: GatewayError.project("a\u{202E}b").v1Answer.body, as: UTF8.self)
        #expect(body.contains(#"projects/a\\u{202e}b (or it may not exist)."#))
    }

    private static let waits: [(milliseconds: Int64, seconds: Int64)] = [
        (.min, 1), (-5, 1), (0, 1), (1, 1), (1_000, 1), (1_001, 2), (29_001, 30), (30_000, 30), (30_001, 30),
        (.max, 30),
    ]

    @Test func waitIsOneToThirtyWholeSeconds() {
        for (milliseconds, seconds) in Self.waits {
            #expect(GatewayError.seconds(milliseconds) == seconds, "\(milliseconds)")
        }
    }
}
