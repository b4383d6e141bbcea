import FanfareModel
import Testing

@testable import FanfareCore

/// Requests of which nothing is sent, and their answers. Sentences as the live server wrote them.
@Suite struct LegacyFaultTests {
    private static let long = String(repeating: "x", count: 4_097)

    @Test(arguments: [
        ("", "JSON_PARSING_ERROR: Unexpected token END OF FILE at position 0."),
        ("nope", "JSON_PARSING_ERROR: Unexpected character (n) at position 0."),
        ("[1]", "JSON_PARSING_ERROR: Expected an object at position 0."),
        (#"{"registration_ids":[]}"#, #""registration_ids" field cannot be empty"#),
        (#"{"registration_ids":"a"}"#, #"Field "registration_ids" must be a JSON array of strings"#),
        (#"{"registration_ids":["a",1]}"#, #"Field "registration_ids" must be a JSON array of strings"#),
        (#"{"registration_ids":["a"],"to":"b"}"#, #"Must use either "registration_ids" field or "to", not both"#),
        (#"{"condition":"'a' in topics","to":"b"}"#, #"Must use either "condition" field or "to", not both"#),
        (#"{"to":1}"#, #"Field "to" must be a JSON string"#),
        (#"{"to":"a","data":"smth"}"#, #"Field "data" must be a JSON array: "smth""#),
        (#"{"to":"a","notification":7}"#, #"Field "notification" must be a JSON array: 7"#),
        (#"{"to":"a","collapse_key":7}"#, #"Field "collapse_key" must be a JSON string: 7"#),
        (#"{"to":"a","dry_run":"maybe"}"#, #"Field "dry_run" must be a JSON boolean: "maybe""#),
        (#"{"to":"a","time_to_live":"soon"}"#, #"Field "time_to_live" must be a JSON number: "soon""#),
        (#"{"to":"a","priority":"urgent"}"#, #"InvalidParameters: Invalid value (urgent) for "priority""#),
        (
            #"{"to":"a","notification":{"color":"red"}}"#,
            #"InvalidParameters: notification.color: "red" is not a color such as #00ff7f"#
        ),
        (#"{"to":"/topics/a b"}"#, "InvalidParameters: to: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"),
        (#"{"condition":"x"}"#, "InvalidParameters: condition: expected ( or a topic in single quotes at byte 0"),
    ])
    func malformedJSONIsRefusedWithASentence(body: String, sentence: String) throws {
        let answer = try LegacySample.refusal { try LegacySample.json(body) }
        #expect(answer.status == 400)
        #expect(answer.type == "text/plain; charset=UTF-8")
        #expect(LegacySample.body(answer) == sentence + "\n")
        #expect(answer.headers.isEmpty)
    }

    @Test func moreThanThousandTokensAreRefused() throws {
        let tokens = Array(repeating: "\"a\"", count: 1_001).joined(separator: ",")
        let answer = try LegacySample.refusal { try LegacySample.json("{\"registration_ids\":[\(tokens)]}") }
        #expect(LegacySample.body(answer) == "Number of messages on bulk (1001) exceeds maximum allowed (1000)\n")
    }

    @Test(arguments: [
        ("{}", ["MissingRegistration"]), (#"{"to":""}"#, ["MissingRegistration"]),
        (#"{"to":"a b"}"#, ["InvalidRegistration"]),
        (#"{"registration_ids":["","a b"]}"#, ["MissingRegistration", "InvalidRegistration"]),
        (#"{"to":"a","time_to_live":2419201}"#, ["InvalidTtl"]), (#"{"to":"a","time_to_live":-1}"#, ["InvalidTtl"]),
        (#"{"to":"a","time_to_live":1e300}"#, ["InvalidTtl"]),
        (#"{"registration_ids":["a","b"],"data":{"from":"x"}}"#, ["InvalidDataKey", "InvalidDataKey"]),
        (#"{"to":"a","data":{"google.x: y":"x"}}"#, ["InvalidDataKey"]),
        (#"{"to":"a","data":{"k":"\#(long)"}}"#, ["MessageTooBig"]),
        (#"{"to":"a","collapse_key":"\#(String(repeating: long, count: 16))"}"#, ["MessageTooBig"]),
    ])
    func faultWithACodeIsTheErrorOfEachToken(body: String, codes: [String]) throws {
        let answer = try LegacySample.refusal { try LegacySample.json(body) }
        let results = codes.map { #"{"error":"\#($0)"}"# }.joined(separator: ",")
        let counts = #""success":0,"failure":\#(codes.count),"canonical_ids":0"#
        #expect(answer.status == 200)
        #expect(LegacySample.body(answer) == #"{"multicast_id":1,\#(counts),"results":[\#(results)]}"#)
    }

    @Test(arguments: [
        (#"{"to":"/topics/a","time_to_live":-1}"#, #"{"error":"InvalidTtl"}"#),
        (#"{"to":"/topics/a","data":{"k":"\#(long.prefix(2_048))"}}"#, #"{"error":"MessageTooBig"}"#),
        (#"{"notification_key":"K","time_to_live":-1}"#, #"{"success":0,"failure":1}"#),
    ])
    func faultOfATopicOrGroupHasTheFormOfItsAnswer(body: String, expected: String) throws {
        #expect(LegacySample.body(try LegacySample.refusal { try LegacySample.json(body) }) == expected)
    }

    @Test(arguments: [
        ("", "MissingRegistration"), ("data.k=v", "MissingRegistration"), ("registration_id=", "MissingRegistration"),
        ("registration_id=a%20b", "InvalidRegistration"), ("registration_id=a&registration_id=b", "InvalidParameters"),
        ("registration_id=a&data.k=%zz", "InvalidParameters"), ("registration_id=a&data.k=%FF", "InvalidParameters"),
        ("registration_id=a&dry_run=maybe", "InvalidParameters"), ("registration_id=a&time_to_live=-1", "InvalidTtl"),
        ("registration_id=a&data.from=x", "InvalidDataKey"), ("registration_id=a&data.k=\(long)", "MessageTooBig"),
        (String(repeating: "&", count: 5_000), "MessageTooBig"),
    ])
    func faultOfPlainTextIsALineInA200(body: String, code: String) throws {
        let answer = try LegacySample.refusal { try LegacySample.text(body) }
        #expect(answer.status == 200)
        #expect(LegacySample.body(answer) == "Error=\(code)")
    }
}
