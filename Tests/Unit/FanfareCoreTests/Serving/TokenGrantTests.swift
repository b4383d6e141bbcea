import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct TokenGrantTests {
    private static let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let escaped = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

    @Test(arguments: [
        "grant_type=\(escaped)&assertion=a.b.c", "assertion=a.b.c&grant_type=\(type)",
        "scope=x+y&grant_type=\(escaped)&assertion=a%2Eb.c&&x",
    ])
    func assertionIsFoundInAForm(body: String) throws {
        #expect(try TokenGrant.assertion(in: Array(body.utf8)) == "a.b.c")
    }

    @Test(arguments: [
        ("", "invalid_request"), ("grant_type=\(escaped)", "invalid_request"), ("assertion=a", "invalid_request"),
        ("grant_type=\(escaped)&assertion=", "invalid_request"),
        ("grant_type=refresh_token&assertion=a", "unsupported_grant_type"),
        ("grant_type=\(escaped)&assertion=a&assertion=b", "invalid_request"),
        ("grant_type=\(escaped)&assertion=%GG", "invalid_request"),
        (#"{"grant_type":"x","assertion":"a"}"#, "invalid_request"),
    ])
    func otherBodyIsRefused(body: String, error: String) throws {
        let refusal = try #require(throws: TokenGrant.Fault.self) { try TokenGrant.assertion(in: Array(body.utf8)) }
        #expect(try Self.object(refusal.answer)["error"]?.string == error)
        #expect(refusal.answer.status == 400)
    }

    @Test func tokenIsTheAssertionForAnHour() throws {
        let answer = TokenGrant.answer("a.b.c")
        #expect(answer.status == 200 && answer.headers.contains(ServedAnswer.Header("Cache-Control", "no-store")))
        #expect(
            String(decoding: answer.body, as: UTF8.self)
                == #"{"access_token":"a.b.c","token_type":"Bearer","expires_in":3600}"#
        )
    }

    /// Python's library asks again for each answer with one of these words.
    @Test func noRefusalMakesClientsAskAgain() throws {
        let refusals: [TokenGrant.Fault] = [
            .method, .request("The form is empty."), .grantType, .assertion(.key), .assertion(.audience),
            .assertion(.form("longer than 8192 bytes")), .assertion(.time("exp is in the past")),
            .manyWrongKeys(retrySeconds: 7),
        ]
        for refusal in refusals {
            let answer = refusal.answer
            let object = try Self.object(answer)
            let known = ["invalid_grant", "invalid_request", "unsupported_grant_type"]
            #expect(known.contains(object["error"]?.string ?? ""))
            #expect(object["error_description"]?.string?.isEmpty == false)
            let body = String(decoding: answer.body, as: UTF8.self)
            for word in ["internal_failure", "server_error", "temporarily_unavailable"] {
                #expect(!body.contains(word))
            }
            #expect(answer.status < 500 && answer.headers.contains(ServedAnswer.Header("Cache-Control", "no-store")))
        }
        let many = TokenGrant.Fault.manyWrongKeys(retrySeconds: 7).answer
        #expect(many.status == 429 && many.headers.contains(ServedAnswer.Header("Retry-After", "7")))
    }

    @Test func clientsAskAgainAfterAFullGateway() throws {
        let answer = TokenGrant.Fault.unavailable(retryAfterMs: 1_500).answer
        #expect(answer.status == 503 && answer.headers.contains(ServedAnswer.Header("Retry-After", "2")))
        #expect(try Self.object(answer)["error"]?.string == "temporarily_unavailable")
    }

    private static func object(_ answer: ServedAnswer) throws -> JSONObject {
        try #require(try JSONParser.parse(answer.body).object)
    }
}
