import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct ProblemDetailsTests {
    @Test(arguments: [
        ("", ""), ("target", ""), ("tokens", "/tokens"), ("tokens[17]", "/tokens/17"),
        ("recipients[3].vars.name", "/recipients/3/vars/name"), ("message.android.ttl", "/message/android/ttl"),
        ("message.data.a.b", "/message/data/a.b"), ("message.apns.headers.apns-id", "/message/apns/headers/apns-id"),
        ("message.data", "/message/data"), ("a/b~c", "/a~1b~0c"), ("data.x", "/data/x"), ("a[0][1].b", "/a/0/1/b"),
    ])
    func pathOfAFaultIsAJSONPointer(path: String, pointer: String) {
        #expect(ProblemDetails.pointer(ofPath: path) == pointer)
    }

    @Test func ruleOfAJobIsAProblemWithItsPlace() throws {
        let answer = ProblemDetails(EntryFault("tokens[1]", "empty")).answer()
        #expect(answer.status == 422 && answer.type == "application/problem+json")
        let expected: JSONObject = [
            "type": "about:blank", "title": "Unprocessable Content", "status": 422, "detail": "tokens[1]: empty",
            "errors": [["detail": "empty", "pointer": "/tokens/1"]],
        ]
        #expect(try JSONParser.parse(answer.body) == .object(expected))
    }

    @Test func faultOutsideTheBodyNamesItsParameterOrHeader() throws {
        let parameter = ProblemDetails(.parameter("limit"), "too large")
        #expect(parameter.status == 400 && parameter.detail == "limit: too large")
        let text = String(decoding: ProblemDetails(.header("Idempotency-Key"), "empty").answer().body, as: UTF8.self)
        #expect(text.contains(#""errors":[{"detail":"empty","header":"Idempotency-Key"}]"#))
    }

    @Test func ruleOfAnAudienceNamesItsLine() throws {
        let answer = ProblemDetails(AudienceReader.Fault(line: 17, rule: "no token")).answer()
        let expected: JSONObject = [
            "type": "about:blank", "title": "Unprocessable Content", "status": 422, "detail": "line 17: no token",
            "errors": [["detail": "no token", "line": 17]],
        ]
        #expect(try JSONParser.parse(answer.body) == .object(expected))
    }

    @Test func rejectionOfAWorkerNamesTheJob() {
        let problem = ProblemDetails(rejection: "audience: the key holds a hash: no list", job: "a")
        #expect(problem.faults.first?.place == .pointer("/audience"))
        #expect(problem.faults.first?.rule == "the key holds a hash: no list" && problem.job == "a")
        #expect(ProblemDetails(rejection: "no colon", job: "a").detail == "no colon")
    }

    static let refusals: [(refusal: GatewayError, status: Int, header: String?)] = [
        (.noKey, 401, "WWW-Authenticate"), (.wrongKey, 401, "WWW-Authenticate"),
        (.expiredToken, 401, "WWW-Authenticate"), (.manyWrongKeys(retryAfterMs: 1), 429, "Retry-After"),
        (.project("a"), 403, nil), (.right("read"), 403, nil), (.route, 404, nil),
        (.method(allowed: "GET"), 405, "Allow"), (.tooLarge(maximumBytes: 1), 413, nil), (.mediaType, 415, nil),
        (.malformedBody("no gzip"), 400, nil),
        (.rate(retryAfterMs: 1), 429, "Retry-After"), (.unavailable("", retryAfterMs: 1), 503, "Retry-After"),
    ]

    @Test func refusalOfTheGatewayHasTheSameMeaning() throws {
        for (refusal, status, header) in Self.refusals {
            let answer = refusal.problem
            #expect(answer.status == status && answer.type == "application/problem+json", "\(refusal)")
            #expect(answer.headers.map(\.name) == [header].compactMap { $0 }, "\(refusal)")
            let object = try JSONParser.parse(answer.body).object
            #expect(object?["title"]?.string?.isEmpty == false, "\(refusal) has no title")
        }
    }
}
