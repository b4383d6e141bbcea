import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct JobRequestTests {
    private func fields(_ job: JobRequest) -> [String] {
        job.fields.map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }
    }

    private func request(_ text: String, _ headers: [String: String] = [:], priority: Int = 9) throws -> JobRequest {
        try JobRequest(Array(text.utf8), headers: headers, maximumPriority: priority)
    }

    private func problem(_ text: String, _ headers: [String: String] = [:]) -> ProblemDetails? {
        #expect(throws: ProblemDetails.self) { try request(text, headers) }
    }

    @Test func membersBecomeTheFieldsOfAnEntry() throws {
        let text = #"""
             {"message": {"data": {"a": "b"}}, "tokens": ["x", "y"], "priority": 7, "not_before": 1e12,
              "validate_only": true, "id": "news\u002d1", "canary": "1%", "rate": 5.0}
            """#
        #expect(
            fields(try request(text)) == [
                #"message={"data": {"a": "b"}}"#, #"tokens=["x", "y"]"#, "priority=7", "not_before=1000000000000",
                "validate_only=1", "id=news-1", "canary=1%", "rate=5",
            ]
        )
        #expect(fields(try request(#"{"validate_only": false, "canary": 10}"#)) == ["validate_only=0", "canary=10"])
        #expect(try request("{}").fields.isEmpty)
    }

    @Test(arguments: ["", "{", "{\"a\":1,}", "[1", "{} x", "{\"message\":{\"a\":tru}}", "\u{FEFF}{}", "nul"])
    func textThatIsNoJSONIsABadRequest(text: String) {
        #expect(problem(text)?.status == 400)
        #expect(problem(text)?.detail.hasPrefix("The body is not JSON at byte ") == true)
    }

    @Test(arguments: [
        ("[]", "must be an object, not an array"), ("null", "must be an object, not null"),
        (#"{"token":1}"#, "token: must be a string, not a number"),
        (#"{"tokens":"[]"}"#, "tokens: must be an array, not a string"),
        (#"{"message":[]}"#, "message: must be an object, not an array"),
        (#"{"priority":"5"}"#, "priority: must be a number, not a string"),
        (#"{"validate_only":1}"#, "validate_only: must be a boolean, not a number"),
        (#"{"canary":true}"#, "canary: must be a string or a number, not a boolean"),
        (#"{"id":null}"#, "id: null; leave the field out"), (#"{"unknown":1}"#, "unknown: unknown field"),
    ])
    func membersOfAnotherKindAreFaults(text: String, detail: String) {
        let problem = problem(text)
        #expect(problem?.status == 422 && problem?.detail == detail)
    }

    @Test func idempotencyKeyBecomesTheID() throws {
        #expect(try request("{}", ["idempotency-key": "\"a-1\""]).id == "a-1")
        #expect(fields(try request(#"{"id":"a"}"#, ["idempotency-key": "a"])) == ["id=a"])
        let other = problem(#"{"id":"a"}"#, ["idempotency-key": "b"])
        #expect(other?.status == 422 && other?.faults.first?.place == .pointer("/id"))
        let bad = problem("{}", ["idempotency-key": "a b"])
        #expect(bad?.status == 400 && bad?.faults.first?.place == .header("Idempotency-Key"))
    }

    @Test func missingIDIsMadeOnce() throws {
        var job = try request("{}")
        #expect(job.setMissingID("a") == "a" && job.id == "a")
        #expect(job.setMissingID("b") == "a" && job.fields.count == 1)
    }

    @Test func traceContextOfTheHeadersBecomesTheFields() throws {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let headers = ["traceparent": parent, "tracestate": "a=b"]
        #expect(fields(try request("{}", headers)) == ["traceparent=\(parent)", "tracestate=a=b"])
        #expect(fields(try request("{}", ["tracestate": "a=b"])).isEmpty)
        #expect(fields(try request("{}", ["traceparent": "00-x"])).isEmpty, "a context that breaks a rule is ignored")
        #expect(fields(try request("{}", ["traceparent": parent, "tracestate": "="])) == ["traceparent=\(parent)"])
        #expect(fields(try request(#"{"traceparent":"own"}"#, headers)) == ["traceparent=own"])
    }

    @Test func priorityIsLoweredToThatOfTheKey() throws {
        #expect(fields(try request(#"{"priority":9}"#, priority: 4)) == ["priority=4"])
        #expect(fields(try request(#"{"priority":3}"#, priority: 4)) == ["priority=3"])
        #expect(fields(try request("{}", priority: 4)) == ["priority=4"], "5 is the default")
        #expect(try request("{}", priority: 5).fields.isEmpty)
        #expect(fields(try request(#"{"priority":10}"#, priority: 4)) == ["priority=10"], "a fault stays one")
    }

    @Test func repeatedMembersAreFoundByTheCheck() throws {
        let job = try request(#"{"id":"a","id":"b"}"#)
        #expect(throws: EntryFault("id", "given more than once")) { try EntryFields(job.fields) }
    }

    @Test func everyFieldHasOneForm() {
        for field in EntryField.allCases { #expect(!field.form.kinds.isEmpty, "\(field)") }
    }
}
