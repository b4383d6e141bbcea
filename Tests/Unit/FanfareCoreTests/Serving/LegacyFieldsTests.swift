import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct LegacyFieldsTests {
    /// The message of a request with this one member.
    private static func message(_ member: String) throws -> String {
        LegacySample.message(try LegacySample.json("{\"to\":\"a\",\(member)}"))
    }

    @Test(arguments: [
        (#""content_available":1"#, #"{"content_available":true}"#),
        (#""content_available":"true""#, #"{"content_available":true}"#),
        (#""mutable_content":"True""#, #"{"mutable_content":true}"#),
        (#""mutable_content":0"#, "{}"), (#""content_available":"""#, "{}"), (#""content_available":null"#, "{}"),
        (#""time_to_live":"60""#, #"{"time_to_live":60}"#), (#""time_to_live":1e3"#, #"{"time_to_live":1000}"#),
        (#""time_to_live":1.9"#, #"{"time_to_live":1}"#), (#""time_to_live":"""#, "{}"),
        (#""priority":10"#, #"{"priority":"high"}"#), (#""priority":"5""#, #"{"priority":"normal"}"#),
        (#""priority":"HIGH""#, #"{"priority":"high"}"#), (#""priority":"""#, "{}"),
        (#""notification":{"badge":"7"}"#, #"{"notification":{"badge":"7"}}"#),
        (#""notification":{"badge":""}"#, "{}"), (#""notification":{"color":""}"#, "{}"),
        (#""notification":{"title":""}"#, #"{"notification":{"title":""}}"#),
        (#""notification":{"body_loc_args":["a",5]}"#, #"{"notification":{"body_loc_args":"[\"a\",\"5\"]"}}"#),
        (#""notification":{"title_loc_args":"[\"a\"]"}"#, #"{"notification":{"title_loc_args":"[\"a\"]"}}"#),
        (#""notification":{"sound":{"name":"x"}}"#, #"{"notification":{"sound":{"name":"x"}}}"#),
        (#""notification":{"vibrate":true,"title":"T"}"#, #"{"notification":{"title":"T"}}"#),
        (#""data":{"k":"1","k":2}"#, #"{"data":{"k":"2"}}"#), (#""data":null"#, "{}"),
        (#""delivery_receipt_requested":true"#, "{}"), (#""x":{"y":[]}"#, "{}"),
    ])
    func lenientFormIsWrittenAsWorkersAcceptIt(member: String, message: String) throws {
        #expect(try Self.message(member) == message)
    }

    @Test(arguments: [
        (#""dry_run":true"#, true), (#""dry_run":1"#, true), (#""dry_run":"True""#, true), (#""dry_run":false"#, false),
        (#""dry_run":"0""#, false), (#""dry_run":null"#, false), (#""x":1"#, false),
    ])
    func dryRunIsReadLeniently(member: String, expected: Bool) throws {
        #expect(try LegacySample.json("{\"to\":\"a\",\(member)}").validateOnly == expected)
    }

    /// A field that workers accept must not get lost on the way.
    @Test func everyFieldOfTheWorkersSchemaIsKnown() throws {
        let elsewhere: Set = [
            "condition", "delay_while_idle", "delivery_receipt_requested", "dry_run", "message_id", "notification_key",
            "registration_id", "registration_ids", "to",
        ]
        let values: [String: JSONValue] = [
            "content_available": true, "mutable_content": true, "time_to_live": 1, "data": ["k": "v"],
            "priority": "high", "notification": ["title": "T"],
        ]
        let names = Set(LegacySchema.message.rules.keys).subtracting(elsewhere)
        let members = names.map { JSONObject.Member(key: $0, value: values[$0] ?? "text") }
        #expect(Set(try LegacyFields.message(of: JSONObject(members)).members.map(\.key)) == names)
        #expect(names.count == 8)
    }
}
