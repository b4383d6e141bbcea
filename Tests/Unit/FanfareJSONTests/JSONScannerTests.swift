import FanfareJSON
import Testing

@Suite struct JSONScannerTests {
    static func scanner(_ text: String, _ range: Range<Int>? = nil) -> JSONScanner {
        let bytes = Array(text.utf8)
        return JSONScanner(bytes: bytes, range: range ?? bytes.indices, maximumDepth: 64)
    }

    @Test func partOfATextEndsWithItsRange() throws {
        var scanner = Self.scanner(#"x{"a":[1,"b"]}y"#, 1..<14)
        #expect(try scanner.value() == ["a": [1, "b"]])
        #expect(scanner.next == 14)
        #expect(scanner.nextByte == nil)
        try scanner.finish()
    }

    /// A text, the end of its part, and the offset of the error from the start of the part, which is 1.
    static let cut: [(String, Int, Int)] = [
        (#"xtrue"#, 4, 0), (#"x"ab""#, 4, 3), (#"x"\u0041""#, 6, 5), (#"x"\ud83d\ude00""#, 8, 1), (#"x"\n""#, 3, 2),
        ("x\"\u{e9}\"", 3, 1), (#"x[1]"#, 3, 2), (#"x{"a":1}"#, 7, 6), (#"x{"a":1}"#, 2, 1), (#"x{"a":1}"#, 5, 4),
        (#"x"aaaaaaaaaaaaaaaa""#, 8, 7),
    ]

    @Test(arguments: cut)
    func nothingIsReadBehindTheRange(text: String, end: Int, offset: Int) {
        var (builder, skipper) = (Self.scanner(text, 1..<end), Self.scanner(text, 1..<end))
        let built = #expect(throws: JSONError.self) { try builder.value() }
        let skipped = #expect(throws: JSONError.self) { try skipper.skipValue() }
        #expect(built?.offset == offset)
        #expect(skipped == built)
    }

    @Test(arguments: JSONParserTests.accepted.map(\.0) + JSONParserTests.refused.map(\.0))
    func skippedValueIsCheckedAsAReadOne(text: String) {
        var (builder, skipper) = (Self.scanner(text), Self.scanner(text))
        builder.skipSpace()
        skipper.skipSpace()
        let built = Result { () throws(JSONError) in _ = try builder.value() }
        let skipped = Result { () throws(JSONError) in try skipper.skipValue() }
        #expect(throws: Never.self) { if case .success = built { try skipped.get() } }
        if case .failure(let error) = built { #expect(throws: error) { try skipped.get() } }
        #expect(skipper.next == builder.next)
    }

    @Test func skippedValueIsBoundInDepth() throws {
        let deep = String(repeating: #"[{"a":"#, count: 32)
        var scanner = Self.scanner(deep + "1" + String(repeating: "}]", count: 32) + "[]")
        try scanner.skipValue()
        try scanner.skipValue()
        #expect(throws: JSONError(reason: "nested deeper than 64 levels", offset: 192)) {
            var scanner = Self.scanner(deep + "[")
            try scanner.skipValue()
        }
    }

    @Test func stringWithoutEscapesIsARange() throws {
        var scanner = Self.scanner(#""é中""a\nb""""#)
        #expect(try scanner.plainString() == 1..<6)
        #expect(scanner.next == 7)
        #expect(try scanner.plainString() == nil)
        #expect(scanner.next == 7)
        #expect(try scanner.string() == "a\nb")
        #expect(try scanner.plainString() == 14..<14)
        #expect(throws: JSONError(reason: "the text ends within a string", offset: 2)) {
            var scanner = Self.scanner(#""a"#)
            _ = try scanner.plainString()
        }
    }

    /// Plain text is skipped eight bytes at a time.
    @Test func specialByteIsSeenAtEveryPlaceOfALongString() throws {
        for place in 0..<20 {
            let string = { (byte: UInt8) in
                let text = [UInt8](repeating: 0x61, count: place) + [byte] + [UInt8](repeating: 0x61, count: 20)
                return [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
            }
            for (byte, reason) in [(0x80, "invalid UTF-8"), (0x1F, "unescaped control character in a string")]
                as [(UInt8, String)]
            {
                #expect(throws: JSONError(reason: reason, offset: place + 1)) { try JSONParser.parse(string(byte)) }
            }
            #expect(throws: JSONError(reason: "unknown escape in a string", offset: place + 1)) {
                try JSONParser.parse(string(UInt8(ascii: "\\")).map { $0 == 0x61 ? 0x78 : $0 })
            }
            var scanner = JSONScanner(bytes: string(UInt8(ascii: "\"")), maximumDepth: 1)
            #expect(try scanner.plainString() == 1..<place + 1)
        }
    }

    @Test(arguments: [
        ("\"", "a string"), ("[", "an array"), ("{", "an object"), ("-", "a number"), ("0", "a number"),
        ("9", "a number"),
        ("t", "a boolean"), ("f", "a boolean"), ("n", "null"), ("x", nil), ("", nil),
    ])
    func kindIsNamedByTheFirstByte(text: String, kind: String?) {
        #expect(Self.scanner(text).nextKindName == kind)
    }
}
