import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct JobObjectTests {
    private static func fields(_ text: String) throws -> [String] {
        let job = try JSONParser.parse(Array(text.utf8))
        return try JobObject.fields(of: job).map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }
    }

    @Test func stringIsPushedAsItIsAndAnyOtherValueAsItsJSON() throws {
        let text = #"{"token":"T\n","message":{"data":{"a":"é"}},"tokens":["A","B"],"priority":9,"validate_only":true}"#
        let expected = [
            "token=T\n", #"message={"data":{"a":"é"}}"#, #"tokens=["A","B"]"#, "priority=9", "validate_only=true",
        ]
        #expect(try Self.fields(text) == expected)
        #expect(try Self.fields("{}").isEmpty)
    }

    @Test(arguments: [
        ("[1]", ": must be a JSON object, not an array"), (#""text""#, ": must be a JSON object, not a string"),
        (#"{"token":"T","id":null}"#, "id: null; leave the field out"),
    ])
    func jobThatIsNoObjectOfFieldsIsRefused(text: String, reason: String) throws {
        let fault = #expect(throws: EntryFault.self) { try Self.fields(text) }
        #expect(fault?.reason == reason)
    }
}
