import FanfareModel
import Testing

@testable import FanfareCore

/// What clients send, as their sources have it, and the job that it becomes.
@Suite struct LegacyRequestTests {
    struct Habit: Sendable, CustomTestStringConvertible {
        let client: String
        let body: String
        var kind = RecipientKind.token
        let recipients: [String]
        let message: String
        var validateOnly = false

        var testDescription: String { client }
    }

    private static let json = [
        Habit(
            client: "PyFCM: sorted keys, priority always, an empty notification, one token in to",
            body: #"{"content_available": true, "notification": {}, "priority": "high", "to": "a:b"}"#,
            recipients: ["a:b"],
            message: #"{"content_available":true,"priority":"high"}"#
        ),
        Habit(
            client: "PyFCM: several tokens, badge as a number",
            body: #"{"notification": {"badge": 3, "body": "B"}, "priority": "normal", "registration_ids": ["a", "b"]}"#,
            recipients: ["a", "b"],
            message: #"{"notification":{"badge":"3","body":"B"},"priority":"normal"}"#
        ),
        Habit(
            client: "PyFCM: a condition",
            body: #"{"condition": "'a' in topics || 'b' in topics", "data": {"k": "v"}, "priority": "high"}"#,
            kind: .condition,
            recipients: ["'a' in topics || 'b' in topics"],
            message: #"{"data":{"k":"v"},"priority":"high"}"#
        ),
        Habit(
            client: "node-gcm: data of any type, any number as time to live",
            body: #"{"to":"a","delay_while_idle":true,"time_to_live":86400.7,"dryRun":true,"data":"#
                + #"{"n":1.50,"t":true,"z":null,"o":{"b":[1, 2]},"s":"x"}}"#,
            recipients: ["a"],
            message: #"{"data":{"n":"1.50","o":"{\"b\":[1,2]}","s":"x","t":"true","z":"null"},"time_to_live":86400}"#
        ),
        Habit(
            client: "python-gcm: a list for one token, the caller's keywords as they are",
            body: #"{"registration_ids":["a"],"collapse_key":"up","delay_while_idle":false,"dry_run":true,"#
                + #""data":{"k":"v"}}"#,
            recipients: ["a"],
            message: #"{"collapse_key":"up","data":{"k":"v"}}"#,
            validateOnly: true
        ),
        Habit(
            client: "Ruby fcm: a topic in to",
            body: #"{"to":"/topics/news-1","data":{"score":"4x8"}}"#,
            kind: .topic,
            recipients: ["news-1"],
            message: #"{"data":{"score":"4x8"}}"#
        ),
        Habit(
            client: "go-fcm: empty members, platform blocks that the protocol has not",
            body: #"{"to":"a","registration_ids":null,"condition":"","apns":{"headers":{}},"webpush":{},"#
                + #""time_to_live":0}"#,
            recipients: ["a"],
            message: #"{"time_to_live":0}"#
        ),
        Habit(
            client: "rpush: content_available and a list",
            body: #"{"registration_ids":["a"],"priority":"high","content_available":true,"#
                + #""notification":{"title":"T"}}"#,
            recipients: ["a"],
            message: #"{"content_available":true,"notification":{"title":"T"},"priority":"high"}"#
        ),
        Habit(
            client: "PHP: an empty array for an empty object",
            body: #"{"registration_ids":["a"],"data":[],"notification":{"body":"B"}}"#,
            recipients: ["a"],
            message: #"{"notification":{"body":"B"}}"#
        ),
        Habit(
            client: "a device group of 2014",
            body: #"{"notification_key":"APA91b","data":{"k":"v"}}"#,
            kind: .group,
            recipients: ["APA91b"],
            message: #"{"data":{"k":"v"}}"#
        ),
    ]

    private static let text = [
        Habit(
            client: "python-gcm: Python's values as text",
            body: "registration_id=a%3Ab&collapse_key=up&delay_while_idle=True&time_to_live=108&dry_run=True"
                + "&data.a=x+y&data.b=%C3%A9",
            recipients: ["a:b"],
            message: #"{"collapse_key":"up","data":{"a":"x y","b":"é"},"time_to_live":108}"#,
            validateOnly: true
        ),
        Habit(
            client: "curl of the reference",
            body: "collapse_key=score_update&time_to_live=108&data.score=4x8&data.time=15:16.2342&registration_id=42",
            recipients: ["42"],
            message: #"{"collapse_key":"score_update","data":{"score":"4x8","time":"15:16.2342"},"time_to_live":108}"#
        ),
    ]

    private func check(_ habit: Habit, _ request: LegacyRequest) throws {
        #expect(request.kind == habit.kind)
        #expect(request.recipients == habit.recipients)
        #expect(LegacySample.message(request) == habit.message)
        #expect(request.validateOnly == habit.validateOnly)
        // A worker of a v1 project translates it.
        let target = habit.kind == .token ? "token" : habit.kind.rawValue
        let fields = [(target, Array(habit.recipients[0].utf8)), ("message", request.message)]
        let check = EntryCheck(ProtocolSettings(), hasSenderID: false, project: "demo", prefix: "fanfare")
        _ = try check.check(fields + [("format", Array("legacy".utf8))])
    }

    @Test(arguments: json) func requestInJSONBecomesAJobThatWorkersAccept(habit: Habit) throws {
        try check(habit, try LegacySample.json(habit.body))
    }

    @Test(arguments: text) func requestInPlainTextBecomesAJobThatWorkersAccept(habit: Habit) throws {
        try check(habit, try LegacySample.text(habit.body))
    }

    @Test(arguments: [
        "application/json", "application/json; UTF-8", "Application/JSON;charset=utf-8",
    ])
    func contentTypeOfJSONIsReadLeniently(type: String) throws {
        let body = Array("\u{FEFF} {\"to\":\"a\"}".utf8)
        #expect(try LegacyRequest(body, contentType: type).recipients == ["a"])
    }

    @Test func bodyWithoutContentTypeIsPlainText() throws {
        let request = try LegacyRequest(Array("registration_id=a".utf8), contentType: nil)
        #expect(request.shape == .text)
        #expect(LegacySample.message(request) == "{}")
    }

    @Test func tokensAreSentOnceAndMalformedOnesNotAtAll() throws {
        let request = try LegacySample.json(#"{"registration_ids":["a","b c","b","a",""]}"#)
        #expect(request.recipients == ["a", "b"])
        let slots: [LegacyTarget.Slot] = [
            .recipient(0), .refused(.invalidRegistration), .recipient(1), .recipient(0), .refused(.missingRegistration),
        ]
        #expect(request.slots == slots)
    }

    @Test func equalRequestsHaveEqualMessages() throws {
        let bodies = [
            #"{"to":"a","data":{"x":1,"y":"2"},"notification":{"title":"T","body":"B"},"mutable_content":false}"#,
            #"{ "notification": {"body":"B", "title":"T", "unknown":1}, "data":{"y":"2","x":"0","x":"1"}, "to":"b" }"#,
        ]
        let messages = try bodies.map { LegacySample.message(try LegacySample.json($0)) }
        #expect(Set(messages).count == 1)
    }

    @Test func thousandTokensAreOneRequest() throws {
        let tokens = (0..<1_000).map { "\"t\($0)\"" }.joined(separator: ",")
        #expect(try LegacySample.json("{\"registration_ids\":[\(tokens)]}").recipients.count == 1_000)
    }

    /// Reads damaged bodies: none traps, and each is a job or a refusal.
    @Test func damagedBodyIsReadOrRefused() {
        var random = SeededGenerator(seed: 36)
        let bodies = (Self.json + Self.text).map { Array($0.body.utf8) }
        var refused = 0
        for round in 0..<20_000 {
            var body = bodies[round % bodies.count]
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let at = Int.random(in: body.indices, using: &random)
                body[at] = Bool.random(using: &random) ? .random(in: 0...255, using: &random) : body[at / 2]
            }
            let type = round % 3 == 0 ? nil : "application/json"
            do throws(LegacyFault) {
                let request = try LegacyRequest(body, contentType: type)
                #expect(!request.recipients.isEmpty)
            } catch {
                refused += 1
                #expect([200, 400].contains(error.answer.status))
            }
        }
        #expect(refused > 5_000)
    }

    /// A reader that compares each member with each other one would take minutes.
    @Test func hundredThousandMembersAreRefused() throws {
        let members = (0..<100_000).map { "\"\($0)\":1" }.joined(separator: ",")
        let body = "{\"to\":\"a\",\"data\":{\(members)},\(members)}"
        let answer = try LegacySample.refusal { try LegacySample.json(body) }
        #expect(LegacySample.body(answer).contains("MessageTooBig"))
    }

    private static let many = #"{"to":"a""# + (0..<20).map { #","x\#($0)":1"# }.joined() + "}"
    private static let foreign: [(body: String, names: [String])] = [
        (#"{"to":"a","priority":"high","notification":{"title":"t"},"delay_while_idle":true}"#, []),
        (
            #"{"to":"a","apns":{},"webpush":{},"notification":{"title":"t","image":"i","a b":"c"}}"#,
            ["apns", "webpush", "notification.image"]
        ),
        (#"{"to":"a","x\r\ny":1,"":2,"é":3,"android":4}"#, ["android"]), (many, (0..<10).map { "x\($0)" }),
    ]

    /// Google ignored them, too, so a producer may not know that they have no effect.
    @Test(arguments: foreign) func membersThatTheProtocolLacksAreNamed(body: String, names: [String]) throws {
        #expect(try LegacySample.json(body).ignored == names)
    }
}
