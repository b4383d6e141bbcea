import Testing

@testable import FanfareJSON

@Suite struct JSONPlaceTests {
    private static let text = #"{"a":{"b":[1,{"c":2}],"b.c":3},"t":["x","y"],"a":{"d":4}}"#

    @Test(arguments: [
        ("t", #""t":["#), ("t[1]", #""y"]"#), ("t[1].q", #""y"]"#), ("t[9]", #""t":["#), ("t[x]", #""t":["#),
        // Of equal names the last one counts.
        ("a", #""a":{"d""#), ("a.d", #""d":4"#),
    ])
    func offsetIsThatOfTheInnermostMember(path: String, start: String) throws {
        let bytes = Array(Self.text.utf8)
        let offset = try #require(JSONPlace.offset(of: path, in: bytes))
        #expect(String(decoding: bytes[offset...], as: UTF8.self).hasPrefix(start))
    }

    @Test func offsetBelowARootIsThatOfItsMember() {
        let bytes = Array(#"{"data":{"k":1}}"#.utf8)
        #expect(JSONPlace.offset(of: "message.data.k", root: "message", in: bytes) == 9)
        #expect(JSONPlace.offset(of: "message", root: "message", in: bytes) == nil)
        #expect(JSONPlace.offset(of: "token", in: bytes) == nil)
    }

    @Test(arguments: ["", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":[1,", "nul", "{\"a\" 1}", "\u{0}"])
    func textThatIsNotJSONHasNoPlaces(text: String) {
        #expect(JSONPlace.offset(of: "a[5].b", in: Array(text.utf8)) == nil)
    }
}
