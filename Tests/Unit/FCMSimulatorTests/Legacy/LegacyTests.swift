import FCMSimulator
import FanfareJSON
import Testing

@Suite struct LegacyTests {
    static let codes = [
        ("sbx-unregistered-1", "NotRegistered"), ("sbx-invalid-1", "InvalidRegistration"),
        ("not a token", "InvalidRegistration"), ("sbx-mismatch-1", "MismatchSenderId"),
        ("sbx-auth-1", "InvalidApnsCredential"), ("sbx-unavailable-1-a", "Unavailable"),
        ("sbx-internal-1-a", "InternalServerError"), ("sbx-devicerate-1-a", "DeviceMessageRateExceeded"),
        ("sbx-quota-1-a", "DeviceMessageRateExceeded"), ("t", "ok"), ("sbx-canonical-9", "ok>canon-9"),
    ]

    @Test func `a multicast is answered token by token, in its order`() throws {
        var trial = Trial()
        let list = Self.codes.map { JSONValue.string($0.0) }
        let body: JSONObject = ["registration_ids": .array(list), "data": .object(["a": "b"])]
        let reply = trial.legacy(JSONValue.object(body).jsonText)
        #expect(reply.status == 200)
        #expect(try reply.results() == Self.codes.map(\.1))
        let answer = try reply.json()
        #expect(answer["success"] == 2)
        #expect(answer["failure"] == 9)
        #expect(answer["canonical_ids"] == 1)
        let id = try #require(answer["multicast_id"]?.number)
        #expect(id.text.utf8.count == 19)
        #expect(reply.header("retry-after") == "1")
        #expect(try trial.statistic("sends") == 11)
        #expect(try trial.statistic("accepted") == 2)
    }

    @Test(arguments: codes)
    func `a single token gets the same code as in a multicast`(token: String, code: String) throws {
        var trial = Trial()
        let reply = trial.legacy(JSONValue.object(["to": .string(token)]).jsonText)
        #expect(try reply.results() == [code])
    }

    @Test func `a request without a valid key gets an HTML page`() {
        var trial = Trial()
        let keys = [nil, "AIzaSyBrowserOrAndroidKey", "AAAAstranger:APA91bx", ""]
        for key in keys {
            let reply = trial.legacy(#"{"to":"t"}"#, key: key)
            #expect(reply.status == 401)
            #expect(reply.header("content-type")?.hasPrefix("text/html") == true)
        }
        let foreign = trial.legacy(#"{"to":"t"}"#, projectIDHeader: Trial.other.senderID)
        #expect(foreign.status == 401)
        #expect(trial.legacy(#"{"to":"t"}"#, projectIDHeader: Trial.project.senderID).status == 200)
    }

    struct Sentence: Sendable, CustomTestStringConvertible {
        var body: String
        var text: String
        var testDescription: String { String(body.prefix(60)) }
    }

    static let sentences = [
        Sentence(body: "", text: "JSON_PARSING_ERROR: Unexpected token END OF FILE at position 0.\n"),
        Sentence(body: "nonsense", text: "JSON_PARSING_ERROR: Unexpected character (n) at position 0.\n"),
        Sentence(body: #"{"registration_ids":[]}"#, text: "\"registration_ids\" field cannot be empty\n"),
        Sentence(
            body: #"{"registration_ids":["a"],"to":"b"}"#,
            text: "Must use either \"registration_ids\" field or \"to\", not both\n"
        ),
        Sentence(
            body: #"{"registration_ids":["# + Array(repeating: #""a""#, count: 1_001).joined(separator: ",") + "]}",
            text: "Number of messages on bulk (1001) exceeds maximum allowed (1000)\n"
        ),
        Sentence(body: #"{"to":"t","data":"smth"}"#, text: "Field \"data\" must be a JSON array: \"smth\"\n"),
        Sentence(body: #"{"to":"t","dry_run":1}"#, text: "Field \"dry_run\" must be a JSON boolean: 1\n"),
        Sentence(body: #"{"notification_key":"k"}"#, text: "InvalidParameters: Unknown field \"notification_key\"\n"),
        Sentence(
            body: #"{"to":"t","notification":{"titel":"x"}}"#,
            text: "InvalidParameters: Unknown field \"notification.titel\"\n"
        ),
        Sentence(
            body: #"{"to":"t","priority":"hoch"}"#,
            text: "InvalidParameters: Invalid value (hoch) for \"priority\"\n"
        ),
        Sentence(body: #"{"condition":"x"}"#, text: "InvalidParameters: Invalid value for \"condition\"\n"),
        Sentence(body: #"{"to":"/topics/a b"}"#, text: "InvalidParameters: Invalid topic name in \"to\"\n"),
    ]

    @Test(arguments: sentences)
    func `a malformed request gets 400 and a sentence`(row: Sentence) {
        var trial = Trial()
        let reply = trial.legacy(row.body)
        #expect(reply.status == 400)
        #expect(reply.header("content-type")?.hasPrefix("text/plain") == true)
        #expect(reply.text == row.text)
    }

    struct Documented: Sendable, CustomTestStringConvertible {
        var fields: String
        var code: String
        var observed: String
        var testDescription: String { String(fields.prefix(60)) }
    }

    static let documented = [
        Documented(
            fields: #""time_to_live":2419201"#,
            code: "InvalidTtl",
            observed: "Invalid value (2419201) for \"time_to_live\": must be between 0 and 2419200\n"
        ),
        Documented(
            fields: #""time_to_live":1.5"#,
            code: "InvalidTtl",
            observed: "Invalid value (1.5) for \"time_to_live\": must be between 0 and 2419200\n"
        ),
        Documented(
            fields: #""data":{"from":"x"}"#,
            code: "InvalidDataKey",
            observed: "\"data\" key \"from\" is a reserved keyword\n"
        ),
        Documented(
            fields: #""data":{"k":""# + String(repeating: "x", count: 4_096) + #""}"#,
            code: "MessageTooBig",
            observed: "Message is too big\n"
        ),
    ]

    @Test(arguments: documented)
    func `an invalid option gets the documented code, or the observed sentence`(row: Documented) throws {
        var trial = Trial()
        let one = trial.legacy(#"{"to":"t","# + row.fields + "}")
        #expect(one.status == 200)
        #expect(try one.results() == [row.code])
        let many = trial.legacy(#"{"registration_ids":["a","b"],"# + row.fields + "}")
        #expect(try many.results() == [row.code, row.code])
        let topic = trial.legacy(#"{"to":"/topics/x","# + row.fields + "}")
        #expect(try topic.json() == ["error": .string(row.code)])
        var observed = Trial(observedLegacyErrors: true)
        let sentence = observed.legacy(#"{"to":"t","# + row.fields + "}")
        #expect(sentence.status == 400)
        #expect(sentence.text == row.observed)
    }

    @Test func `a request without a target gets MissingRegistration`() throws {
        var trial = Trial()
        #expect(try trial.legacy(#"{"to":""}"#).results() == ["MissingRegistration"])
        #expect(try trial.legacy(#"{"data":{"a":"b"}}"#).results() == ["MissingRegistration"])
    }

    @Test func `a topic message is limited to half the size`() throws {
        var trial = Trial()
        let data = #""data":{"k":""# + String(repeating: "x", count: 2_048) + #""}}"#
        #expect(try trial.legacy(#"{"to":"/topics/x","# + data).json() == ["error": "MessageTooBig"])
        #expect(trial.legacy(#"{"to":"t","# + data).status == 200)
    }

    @Test func `a message restricted to another package gets InvalidPackageName`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"t","package":"com.a"}"#)
        #expect(
            try trial.legacy(#"{"to":"t","restricted_package_name":"com.b"}"#).results() == ["InvalidPackageName"]
        )
        #expect(try trial.legacy(#"{"to":"t","restricted_package_name":"com.a"}"#).results() == ["ok"])
    }

    @Test func `a send to a topic or a condition is answered with one id`() throws {
        var trial = Trial()
        for body in [#"{"to":"/topics/x"}"#, #"{"condition":"'x' in topics"}"#] {
            let reply = try trial.legacy(body).json()
            #expect(reply["message_id"]?.number?.int64 != nil)
            #expect(reply["multicast_id"] == nil)
        }
        let rate = trial.legacy(#"{"to":"/topics/sbx-topicrate-1-x"}"#)
        #expect(try rate.json() == ["error": "TopicsMessageRateExceeded"])
        #expect(try trial.legacy(#"{"to":"/topics/sbx-topicrate-1-x"}"#).json()["message_id"] != nil)
    }

    @Test func `dry_run delivers nothing`() throws {
        var trial = Trial()
        let reply = trial.legacy(#"{"to":"t","dry_run":true}"#)
        #expect(try reply.results() == ["ok"])
        #expect(try trial.deliveries("t").isEmpty)
    }

    @Test func `plain text is answered in plain text`() {
        var trial = Trial()
        func ask(_ body: String) -> SimulatorReply {
            trial.legacy(body, contentType: "application/x-www-form-urlencoded;charset=UTF-8")
        }
        #expect(ask("registration_id=42&data.score=4x8").text.hasPrefix("id=0:"))
        #expect(ask("registration_id=sbx-canonical-7").text.hasSuffix("\nregistration_id=canon-7\n"))
        #expect(ask("data.a=b").text == "Error=MissingRegistration\n")
        #expect(ask("registration_id=sbx-unregistered-1").text == "Error=NotRegistered\n")
        #expect(ask("registration_id=t&time_to_live=x").text == "Error=InvalidTtl\n")
        #expect(ask("registration_id=t&data.from=x").text == "Error=InvalidDataKey\n")
        let busy = ask("registration_id=sbx-unavailable-1-a")
        #expect(busy.status == 503)
        #expect(busy.header("retry-after") == "1")
    }
}
