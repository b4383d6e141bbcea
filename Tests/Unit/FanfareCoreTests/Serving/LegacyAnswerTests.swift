import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct LegacyAnswerTests {
    private static let id = "projects/demo/messages/0:1500415314455276%31bd1c9631bd1c96"

    private static func answer(_ body: String, _ results: [ServedResult?], firstIndex: Int64 = 0) throws
        -> ServedAnswer
    {
        LegacyAnswer(to: try LegacySample.json(body), job: "J", firstIndex: firstIndex).answer(results)
    }

    private static func object(_ answer: ServedAnswer) throws -> JSONObject {
        try #require(try JSONParser.parse(answer.body).object)
    }

    @Test func multicastHasAResultForEachTokenInTheRequestsOrder() throws {
        let answer = try Self.answer(
            #"{"registration_ids":["a","b c","d","a","e","f"]}"#,
            [
                LegacySample.sent(Self.id), LegacySample.failed(.unregistered), nil,
                LegacySample.sent(Self.id, canonical: "new:f"),
            ],
            firstIndex: 7
        )
        let sent = #"{"message_id":"0:1500415314455276%31bd1c9631bd1c96"}"#
        let results = [
            sent, #"{"error":"InvalidRegistration"}"#, #"{"error":"NotRegistered"}"#, sent,
            #"{"message_id":"fanfare:J:9"}"#,
            #"{"message_id":"0:1500415314455276%31bd1c9631bd1c96","registration_id":"new:f"}"#,
        ]
        let object = try Self.object(answer)
        #expect(object["results"]?.jsonText == "[\(results.joined(separator: ","))]")
        #expect(object.members.map(\.key) == ["multicast_id", "success", "failure", "canonical_ids", "results"])
        #expect(object["success"] == 4)
        #expect(object["failure"] == 2)
        #expect(object["canonical_ids"] == 1)
        #expect(answer.status == 200)
        #expect(answer.type == "application/json; charset=UTF-8")
        #expect(answer.headers == [.init("X-Fanfare-Job", "J")])
    }

    @Test func oneTokenHasAllFiveMembers() throws {
        let object = try Self.object(try Self.answer(#"{"to":"a"}"#, [LegacySample.sent(Self.id)]))
        let counts = ["success", "failure", "canonical_ids"].map { object[$0] }
        #expect(counts == [1, 0, 0])
        #expect(object["results"]?.array?.count == 1)
    }

    /// A record of another version's gateway may lead to fewer or more positions than the request has.
    @Test(arguments: [
        #"{"registration_ids":["a","b"]}"#, #"{"to":"/topics/t"}"#, #"{"notification_key":"K"}"#,
    ])
    func missingResultsAreDeferredAndFurtherOnesIgnored(body: String) throws {
        let count = try LegacySample.json(body).recipients.count
        #expect(try Self.answer(body, []) == Self.answer(body, Array(repeating: nil, count: count)))
        let sent = (0...count).map { _ in LegacySample.sent(Self.id) }
        #expect(try Self.answer(body, sent) == Self.answer(body, Array(sent.prefix(count))))
    }

    @Test(arguments: [nil, "", "projects/demo/messages/"])
    func sentResultWithoutAnIDGetsTheJobs(messageID: String?) throws {
        let answer = try Self.answer(#"{"to":"a"}"#, [LegacySample.sent(messageID)])
        #expect(LegacySample.body(answer).contains(#""results":[{"message_id":"fanfare:J:0"}]"#))
    }

    /// FCM's answer names the message to a token, and none to a device group.
    @Test(arguments: [
        (#"{"to":"APA91bKey"}"#, LegacySample.sent(""), #"{"success":1,"failure":0}"#),
        (#"{"to":"APA91bKey"}"#, LegacySample.sent(id), #""results":[{"message_id":"0:15"#),
        (#"{"to":"APA91bKey"}"#, LegacySample.failed(.unregistered), #""results":[{"error":"NotRegistered"}]"#),
        (#"{"to":"a:APA91bKey"}"#, LegacySample.sent(""), #""results":[{"message_id":"fanfare:J:0"}]"#),
        (#"{"registration_ids":["APA91bKey"]}"#, LegacySample.sent(""), #""results":[{"message_id":"fanfare:J:0"}]"#),
    ])
    func keyOfAGroupIsToldFromATokenByFCMsAnswer(body: String, result: ServedResult, answer: String) throws {
        #expect(LegacySample.body(try Self.answer(body, [result])).contains(answer))
        #expect(try Self.answer(body, [nil]) == Self.answer(body, []))
    }

    /// go-fcm reads 64 bits with a sign. A repeated answer has the same number.
    @Test func numberIsStablePositiveAndTheRequestsOwn() throws {
        var numbers = Set<Int64>()
        for job in 0..<2_000 {
            let answer = LegacyAnswer(to: try LegacySample.json(#"{"to":"a"}"#), job: "1700000000000-\(job)")
            let number = try #require(try Self.object(answer.answer([nil]))["multicast_id"]?.number?.int64)
            #expect(number > 0)
            #expect(try Self.object(answer.answer([LegacySample.sent("x")]))["multicast_id"]?.number?.int64 == number)
            numbers.insert(number)
        }
        #expect(numbers.count == 2_000)
        let joined = try Self.object(try Self.answer(#"{"to":"a"}"#, [nil], firstIndex: 1))["multicast_id"]
        #expect(joined != (try Self.object(try Self.answer(#"{"to":"a"}"#, [nil]))["multicast_id"]))
    }

    @Test(arguments: [#"{"to":"/topics/t"}"#, #"{"condition":"'a' in topics"}"#])
    func topicAndConditionHaveAnIntegerOrAnError(body: String) throws {
        let own = try Self.answer(body, [LegacySample.sent("projects/demo/messages/6538123456789")])
        #expect(LegacySample.body(own) == #"{"message_id":6538123456789}"#)
        for result in [nil, LegacySample.sent(Self.id), LegacySample.sent("fake_message_id"), LegacySample.sent("-5")] {
            let object = try Self.object(try Self.answer(body, [result]))
            #expect(object.members.map(\.key) == ["message_id"])
            #expect((object["message_id"]?.number?.int64 ?? 0) > 0)
        }
        let failed = try Self.answer(body, [LegacySample.failed(.quotaExceeded, kind: .topic)])
        #expect(LegacySample.body(failed) == #"{"error":"TopicsMessageRateExceeded"}"#)
        #expect(failed.status == 200)
    }

    private static let groups: [(ServedResult?, String)] = [
        (LegacySample.sent(""), #"{"success":1,"failure":0}"#), (nil, #"{"success":1,"failure":0}"#),
        (LegacySample.sent("", failed: ["x", "y"]), #"{"success":1,"failure":2,"failed_registration_ids":["x","y"]}"#),
        (LegacySample.failed(.unavailable, kind: .group), #"{"success":0,"failure":1}"#),
    ]

    @Test(arguments: groups)
    func groupHasCountsAndNoResults(result: ServedResult?, expected: String) throws {
        #expect(LegacySample.body(try Self.answer(#"{"notification_key":"K"}"#, [result])) == expected)
    }

    private static let lines: [(ServedResult?, String)] = [
        (LegacySample.sent(id), "id=0:1500415314455276%31bd1c9631bd1c96"), (nil, "id=fanfare:J:0"),
        (LegacySample.sent(id, canonical: "n:w"), "id=0:1500415314455276%31bd1c9631bd1c96\nregistration_id=n%3Aw"),
        (LegacySample.sent("a=b\nc"), "id=a%3Db%0Ac"), (LegacySample.failed(.unregistered), "Error=NotRegistered"),
        (LegacySample.failed(.unavailable), "Error=Unavailable"),
    ]

    @Test(arguments: lines)
    func plainTextIsLinesOfOneEqualsSignEach(result: ServedResult?, expected: String) throws {
        let request = try LegacySample.text("registration_id=a")
        let answer = LegacyAnswer(to: request, job: "J").answer([result])
        #expect(LegacySample.body(answer) == expected)
        #expect(answer.status == 200)
        #expect(answer.type == "text/plain; charset=UTF-8")
        for line in expected.split(separator: "\n") { #expect(line.count { $0 == "=" } == 1) }
    }

    @Test(arguments: [
        ("message.data.from: reserved key", 200, "InvalidDataKey"),
        ("message.time_to_live: must be an integer from 0 to 2419200", 200, "InvalidTtl"),
        ("message: 5000 bytes of data and notification, at most 4096", 200, "MessageTooBig"),
        ("message.priority: has no counterpart in plain text", 400, "InvalidParameters: priority: has no counterpart"),
        ("expires_at: in the past", 400, "InvalidParameters: expires_at: in the past\n"),
    ])
    func rejectedJobIsAnsweredLikeAFault(problem: String, status: Int, text: String) throws {
        let request = try LegacySample.json(#"{"to":"a"}"#)
        let answer = LegacyAnswer(to: request, job: "J").rejected(problem)
        #expect(answer.status == status)
        #expect(LegacySample.body(answer).contains(text))
        #expect(answer.headers == [.init("X-Fanfare-Job", "J")])
    }

    /// No outcome of a recipient makes a client send to all of them again.
    @Test func answerOfAJobIsA200WithoutRetryAfter() throws {
        let results = ErrorCode.allCases.map { LegacySample.failed($0) } + [LegacySample.sent(Self.id)]
        for result in results {
            for body in [#"{"to":"a"}"#, #"{"to":"/topics/t"}"#, #"{"notification_key":"K"}"#] {
                let answer = try Self.answer(body, [result])
                #expect(answer.status == 200)
                #expect(answer.headers.map(\.name) == ["X-Fanfare-Job"])
            }
        }
    }

    private static let refusals: [(GatewayError, Int, String?)] = [
        (.noKey, 401, nil), (.wrongKey, 401, nil), (.expiredToken, 401, nil), (.project("p"), 401, nil),
        (.right("push"), 401, nil), (.tooLarge(maximumBytes: 1), 413, nil), (.mediaType, 415, nil),
        (.rate(retryAfterMs: 11_001), 429, "12"), (.manyWrongKeys(retryAfterMs: 1), 429, "1"),
        (.unavailable("Redis is away.", retryAfterMs: 2_000), 503, "2"),
    ]

    @Test(arguments: refusals)
    func refusalIsASentenceAndOnlyATemporaryOneHasARetryAfter(
        refusal: GatewayError,
        status: Int,
        retryAfter: String?
    ) {
        let answer = refusal.legacyAnswer
        #expect(answer.status == status)
        #expect(answer.type == "text/plain; charset=UTF-8")
        #expect(LegacySample.body(answer) == refusal.error.message + "\n")
        #expect(answer.headers == (retryAfter.map { [ServedAnswer.Header("Retry-After", $0)] } ?? []))
    }

    @Test func keyOfSeveralProjectsIsRefusedByName() {
        let answer = GatewayError.severalProjects(key: "relay", ["demo", "eu"]).legacyAnswer
        #expect(answer.status == 401)
        #expect(LegacySample.body(answer).contains("The key relay is for several projects (demo, eu)"))
    }
}
