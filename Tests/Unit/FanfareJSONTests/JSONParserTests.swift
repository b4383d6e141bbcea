import FanfareJSON
import Testing

@Suite struct JSONParserTests {
    static func parse(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONValue {
        try JSONParser.parse(Array(text.utf8), limits: limits)
    }

    static let accepted: [(String, JSONValue)] = [
        ("null", .null), (" \t\r\n true ", true), ("false", false),
        (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u00e9\u4e2d\ud83d\ude00""#, "é中😀"), ("\"é中😀\"", "é中😀"), (#""\u0000""#, "\u{0}"),
        ("[]", .array([])), ("{ }", .object([:])), ("[1 , [2],{}]", .array([1, .array([2]), .object([:])])),
        (#"{"a":1,"b":{"c":null}}"#, .object(["a": 1, "b": .object(["c": .null])])),
    ]

    @Test(arguments: accepted)
    func readsWhatIsJSON(text: String, value: JSONValue) throws {
        #expect(try Self.parse(text) == value)
    }

    static let refused: [(String, Int, String)] = [
        ("", 0, "the text ends where a value should be"),
        ("  ", 2, "the text ends where a value should be"),
        ("tru", 0, "unexpected character where a value should be"),
        ("nulll", 4, "unexpected text after the value"),
        ("1 2", 2, "unexpected text after the value"),
        ("[1,]", 3, "unexpected character where a value should be"),
        ("[1 2]", 3, "missing comma or closing bracket in an array"),
        (#"{"a" 1}"#, 5, "missing colon after a name"),
        (#"{"a":1,}"#, 7, "an object's member must start with a name in double quotes"),
        (#"{"a":1"#, 6, "missing comma or closing brace in an object"),
        ("{a:1}", 1, "an object's member must start with a name in double quotes"),
        ("01", 1, "a number must not start with a zero"), ("-", 1, "missing digit in a number"),
        ("1.", 2, "missing digit in a number"), ("1e+", 3, "missing digit in a number"),
        (".5", 0, "unexpected character where a value should be"),
        ("+1", 0, "unexpected character where a value should be"),
        ("NaN", 0, "unexpected character where a value should be"),
        ("\"a", 2, "the text ends within a string"), ("\"a\\", 3, "the text ends within a string"),
        ("\"a\nb\"", 2, "unescaped control character in a string"),
        (#""\x""#, 1, "unknown escape in a string"),
        (#""\u12g4""#, 5, "a unicode escape must have four hexadecimal digits"),
        (#""\ud800""#, 1, "lone surrogate in a string"), (#""\udc00""#, 1, "lone surrogate in a string"),
        (#""\ud800\u0041""#, 1, "lone surrogate in a string"), (#""\ud800x""#, 1, "lone surrogate in a string"),
        ("\u{FEFF}1", 0, "unexpected character where a value should be"),
        ("'a'", 0, "unexpected character where a value should be"),
    ]

    @Test(arguments: refused)
    func namesTheByteAndTheReason(text: String, offset: Int, reason: String) {
        #expect(throws: JSONError(reason: reason, offset: offset)) { try Self.parse(text) }
    }

    static let invalidUTF8: [[UInt8]] = [
        [0x80], [0xC0, 0xAF], [0xC2], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
        [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE4, 0xB8], [0xF0, 0x9F, 0x98],
    ]

    @Test(arguments: invalidUTF8)
    func refusesInvalidUTF8(bytes: [UInt8]) {
        for tail in [[], [UInt8(ascii: "\"")], Array("aaaa\"".utf8)] {
            #expect(throws: JSONError.self) { try JSONParser.parse([UInt8(ascii: "\"")] + bytes + tail) }
        }
    }

    @Test func holdsTheLimits() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        _ = try Self.parse(deep)
        #expect(throws: JSONError(reason: "nested deeper than 64 levels", offset: 64)) {
            try Self.parse("[" + deep + "]")
        }
        // Siblings do not add up.
        _ = try Self.parse("[" + Array(repeating: "[{}]", count: 500).joined(separator: ",") + "]")
        #expect(throws: JSONError(reason: "nested deeper than 64 levels", offset: 64)) {
            try Self.parse(String(repeating: "[", count: 1_000_000))
        }
        #expect(throws: JSONError(reason: "5 bytes, at most 4", offset: 4)) {
            try Self.parse("12345", limits: JSONLimits(maximumBytes: 4))
        }
    }

    @Test func keepsNumbersExact() throws {
        #expect(try Self.parse("7497838685051704056").number?.int64 == 7_497_838_685_051_704_056)
        #expect(try Self.parse("9223372036854775807").number?.int64 == .max)
        #expect(try Self.parse("9223372036854775808").number?.int64 == nil)
        #expect(try Self.parse("-0").number?.int64 == 0)
        #expect(try Self.parse("1e3").number?.int64 == nil)
        #expect(try Self.parse("1e3").number?.wholeInt64 == 1_000)
        #expect(try Self.parse("5.0").number?.wholeInt64 == 5)
        #expect(try Self.parse("5.5").number?.wholeInt64 == nil)
        #expect(try Self.parse("1e18").number?.wholeInt64 == nil)
        #expect(try Self.parse("1e999999999").number?.double == nil)
        #expect(try Self.parse("-1e999999999").number?.wholeInt64 == nil)
        #expect(try Self.parse("1e-999999999").number?.double == 0)
        #expect(try Self.parse("-1.50e+3").number?.text == "-1.50e+3")
        #expect(try Self.parse("-1.50e+3").number?.double == -1_500)
    }

    @Test func keepsRepeatedNames() throws {
        let object = try #require(try Self.parse(#"{"a":1,"b":2,"a":3}"#).object)
        #expect(object["a"] == 3)
        #expect(object.duplicateKey == "a")
        #expect(object.members.map(\.key) == ["a", "b", "a"])
        #expect(try Self.parse(#"{"a":1,"b":2}"#).object?.duplicateKey == nil)
        // Equal for Swift's strings, different for everybody else.
        let kelvin = try #require(try Self.parse("{\"to\u{212A}en\":1,\"toKen\":2}").object)
        #expect(kelvin.duplicateKey == nil)
        #expect(kelvin["toKen"] == 2)
        var changed = object
        changed["a"] = 9
        #expect(changed == ["a": 9, "b": 2])
        changed["a"] = nil
        #expect(changed == ["b": 2])
    }

    /// Work that is quadratic in the length would exceed the limit by far; linear work takes a fraction of a second.
    @Test(.timeLimit(.minutes(10))) func readsAResultsArrayOfHalfAMegabyteInOnePass() throws {
        let row =
            #"{"i":0,"token":"dGVzdA:APA91b-0123456789","status":"sent","message_id":"0:1500415314455276%31bd1c9631"}"#
        let text = Array(("[" + Array(repeating: row, count: 5_000).joined(separator: ",") + "]").utf8)
        #expect(text.count > 500_000)
        #expect(try JSONParser.parse(text).array?.count == 5_000)
    }
}
