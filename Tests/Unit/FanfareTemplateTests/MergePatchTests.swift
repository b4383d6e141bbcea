import FanfareJSON
import FanfareTemplate
import Testing

@Suite struct MergePatchTests {
    static func json(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

    /// Appendix A of RFC 7396: target, patch, result.
    static let examples: [(String, String, String)] = [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ]

    @Test(arguments: examples)
    func examplesOfTheStandardGiveTheirResults(target: String, patch: String, result: String) throws {
        #expect(MergePatch.apply(try Self.json(patch), to: try Self.json(target)).jsonText == result)
    }

    /// Target, patch, result: what the standard leaves to the implementation.
    static let order: [(String, String, String)] = [
        (#"{"a":1,"b":2,"c":3}"#, #"{"d":4,"b":5}"#, #"{"a":1,"b":5,"c":3,"d":4}"#),
        (#"{"a":{"x":1},"b":2}"#, #"{"a":{"y":2},"b":null,"c":{"z":null}}"#, #"{"a":{"x":1,"y":2},"c":{}}"#),
        (#"{"a":1,"b":2}"#, #"{"a":null,"a":3}"#, #"{"b":2,"a":3}"#),
        (#"{"a":1,"b":2,"a":3}"#, #"{}"#, #"{"a":3,"b":2}"#),
        (#"{"a":1}"#, #"{"a":2,"a":3}"#, #"{"a":3}"#),
        // Equal for Swift's strings, different names in JSON.
        ("{\"toKen\":1}", "{\"to\u{212A}en\":2}", "{\"toKen\":1,\"to\u{212A}en\":2}"),
    ]

    @Test(arguments: order)
    func replacedMembersStayAndNewOnesGoLast(target: String, patch: String, result: String) throws {
        #expect(MergePatch.apply(try Self.json(patch), to: try Self.json(target)).jsonText == result)
    }

    @Test func absentTargetCountsAsAnEmptyObject() throws {
        #expect(MergePatch.apply(try Self.json(#"{"a":null,"b":1}"#), to: nil) == ["b": 1])
        #expect(MergePatch.apply("x", to: nil) == "x")
    }

    @Test func deepestPatchMergesAtEveryLevel() throws {
        let depth = 63
        let deep = { String(repeating: #"{"a":"#, count: depth) + $0 + String(repeating: "}", count: depth) }
        let merged = MergePatch.apply(try Self.json(deep(#"{"y":2}"#)), to: try Self.json(deep(#"{"x":1}"#)))
        #expect(merged.jsonText == deep(#"{"x":1,"y":2}"#))
    }
}
