import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

@Suite struct RecipientElementTests {
    static func read(_ text: String) throws(TemplateFault) -> RecipientElement {
        let bytes = Array(text.utf8)
        return try RecipientElement(bytes.indices, of: bytes)
    }

    /// The values of `vars` as `name=escaped/count`.
    static func values(_ element: RecipientElement) -> [String] {
        element.variables.map { "\($0.name)=\($0.value.escaped.string)/\($0.value.count)" }
    }

    @Test func membersAreReadInAnyOrder() throws {
        let element = try Self.read(#" { "variant" : "es" , "vars" : { "a" : "x" , "b":1 } , "token" : "t:1" } "#)
        #expect(element.kind == .token)
        #expect(element.recipient.string == "t:1")
        #expect(element.variant?.string == "es")
        #expect(Self.values(element) == ["a=x/1", "b=1/1"])
        #expect(element.fault == nil)
    }

    @Test func optionalMembersMayBeAbsent() throws {
        let element = try Self.read(#"{"fid":"f\u0041\n"}"#)
        #expect(element.kind == .fid)
        #expect(element.recipient.string == "fA\n")
        #expect(element.variant == nil)
        #expect(element.variables.isEmpty)
        #expect(try Self.read(#"{"token":"","vars":{},"variant":""}"#).variant?.string == "")
    }

    @Test func escapedMemberNamesAreTheSameNames() throws {
        let element = try Self.read(#"{"to\u006ben":"t","v\u0061rs":{"\u0061":"x"}}"#)
        #expect(element.recipient.string == "t")
        #expect(Self.values(element) == ["a=x/1"])
    }

    /// JSON text of a value, its escaped bytes, and its length without escapes.
    static let values: [(String, String, Int)] = [
        (#""""#, "", 0), (#""Ana""#, "Ana", 3), (#""é中😀""#, "é中😀", 9), (#""\u0041""#, "A", 1), (#""a\/b""#, "a/b", 3),
        (#""\"\\""#, #"\"\\"#, 2), (#""\n\r\t""#, #"\n\r\t"#, 3), (#""\b\f""#, #"\u0008\u000c"#, 2),
        (#""\u0000\u001F""#, #"\u0000\u001f"#, 2), (#""\u0022\u005c""#, #"\"\\"#, 2), (#""\u007f""#, "\u{7f}", 1),
        (#""\ud83d\ude00""#, "😀", 4), (#""\uD83D\uDE00x""#, "😀x", 5), (#""\u00e9\u4e2d""#, "é中", 5),
        (#""\ufeffa""#, "\u{feff}a", 4), (#""\ufffe\uFFFF""#, "\u{fffe}\u{ffff}", 6), (#""{{b}}""#, "{{b}}", 5),
        ("0", "0", 1), ("-1.50e+3", "-1.50e+3", 8), ("12345678901234567890", "12345678901234567890", 20),
        ("true", "true", 4), ("false", "false", 5),
    ]

    @Test(arguments: values)
    func valuesAreKeptInTheShortestEscapes(json: String, escaped: String, count: Int) throws {
        let element = try Self.read(#"{"token":"t","vars":{"a":\#(json),"z":1}}"#)
        #expect(Self.values(element) == ["a=\(escaped)/\(count)", "z=1/1"])
        let value = try #require(element.variables.first?.value)
        let unescaped = Array(value.unescaped)
        #expect(unescaped.count == count)
        let parsed = try JSONParser.parse(Array(json.utf8))
        #expect(unescaped == Array((parsed.string ?? json).utf8))
        if let text = parsed.string { #expect(value == TemplateValue(text)) }
    }

    /// Element, path, rule.
    static let rejected: [(String, String, String)] = [
        ("", "", "not JSON at byte 0: the text ends where a value should be"),
        ("nope", "", "not JSON at byte 0: unexpected character where a value should be"),
        ("{", "", "not JSON at byte 1: an object's member must start with a name in double quotes"),
        (#"{"token":"t",}"#, "", "not JSON at byte 13: an object's member must start with a name in double quotes"),
        (#"{"token":"t"} x"#, "", "not JSON at byte 14: unexpected text after the value"),
        (#"{"token":"t""#, "", "not JSON at byte 12: missing comma or closing brace in an object"),
        (#"{"token" "t"}"#, "", "not JSON at byte 9: missing colon after a name"),
        (#"{"token":"t","vars":{"a":"\ud83d"}}"#, "", "not JSON at byte 26: lone surrogate in a string"),
        (#"{"token":"t","vars":{"a":"\ude00\ud83d"}}"#, "", "not JSON at byte 26: lone surrogate in a string"),
        (#"{"token":"t","vars":{"a":01}}"#, "", "not JSON at byte 26: a number must not start with a zero"),
        (#"{"token":"t","vars":{"a":[1,{"b" 2}]}}"#, "", "not JSON at byte 33: missing colon after a name"),
        (#"{"token":"t","vars":{"a":nul}}"#, "", "not JSON at byte 25: unexpected character where a value should be"),
        (
            "{\"token\":\"t\",\"vars\":{\"a\":\"\n\"}}", "",
            "not JSON at byte 26: unescaped control character in a string"
        ),
        (
            #"{"token":"t","vars":{"9":1,"a":tru}}"#, "",
            "not JSON at byte 31: unexpected character where a value should be"
        ),
        (#"{"token":[1"#, "", "not JSON at byte 11: missing comma or closing bracket in an array"),
        ("[]", "", "must be an object, not an array"), (#""t""#, "", "must be an object, not a string"),
        ("null", "", "must be an object, not null"), ("7", "", "must be an object, not a number"),
        ("{}", "", "needs a token or a fid"), (#"{"vars":{"a":1}}"#, "", "needs a token or a fid"),
        (#"{"token":"t","fid":"f"}"#, "fid", "not together with token"),
        (#"{"fid":"f","token":"t"}"#, "token", "not together with fid"),
        (#"{"token":"t","token":"t"}"#, "token", "given more than once"),
        (#"{"fid":"f","fid":"f"}"#, "fid", "given more than once"),
        (#"{"vars":{},"token":"t","vars":{}}"#, "vars", "given more than once"),
        (#"{"variant":"a","token":"t","variant":"a"}"#, "variant", "given more than once"),
        (#"{"token":"t","x":1}"#, "x", "unknown field"), (#"{"token":"t","Vars":{}}"#, "Vars", "unknown field"),
        (#"{"token":"t","":1}"#, "", "unknown field"),
        (#"{"token":7}"#, "token", "must be a string, not a number"),
        (#"{"fid":null}"#, "fid", "must be a string, not null"),
        (#"{"token":"t","vars":[]}"#, "vars", "must be an object, not an array"),
        (#"{"token":"t","vars":null}"#, "vars", "must be an object, not null"),
        (#"{"token":"t","variant":true}"#, "variant", "must be a string, not a boolean"),
        // A field that rejects counts even after a fault.
        (#"{"token":"t","vars":{"9":1},"x":1}"#, "x", "unknown field"),
    ]

    @Test(arguments: rejected)
    func brokenElementIsThrown(text: String, path: String, rule: String) {
        #expect(throws: TemplateFault(path, rule)) { try Self.read(text) }
    }

    /// Content of `vars`, path, rule.
    static let faults: [(String, String, String)] = [
        (#""9a":1"#, "vars", "the name at index 0 is not [A-Za-z_][A-Za-z0-9_]{0,31}"),
        (#""a":1,"":2"#, "vars", "the name at index 1 is not [A-Za-z_][A-Za-z0-9_]{0,31}"),
        (#""a":null"#, "vars.a", "must be a string, a number or a boolean, not null"),
        (#""a":[{"b":["}"]}],"b":1"#, "vars.a", "must be a string, a number or a boolean, not an array"),
        (#""a":{"a":"\n","b":{}}"#, "vars.a", "must be a string, a number or a boolean, not an object"),
        (#""a":1,"b":2,"a":1"#, "vars.a", "given more than once"),
        (#""a":1,"\u0061":2"#, "vars.a", "given more than once"),
        // The first fault counts.
        (#""9":1,"a":null"#, "vars", "the name at index 0 is not [A-Za-z_][A-Za-z0-9_]{0,31}"),
        (#""a":null,"9":[[]],"b":"\u0041""#, "vars.a", "must be a string, a number or a boolean, not null"),
    ]

    @Test(arguments: faults)
    func faultyValuesFailOnlyTheRecipient(vars: String, path: String, rule: String) throws {
        let element = try Self.read(#"{"vars":{\#(vars)},"token":"t","variant":"v"}"#)
        #expect(element.fault == TemplateFault(path, rule))
        #expect(element.variables.isEmpty)
        #expect(element.recipient.string == "t")
        #expect(element.variant?.string == "v")
    }

    /// A character in JSON, its bytes without escapes.
    static let characters: [(String, Int)] = [
        ("x", 1), (#"\n"#, 1), (#"\u0001"#, 1), (#"\u00e9"#, 2), ("é", 2), (#"\ud83d\ude00"#, 4),
    ]

    @Test(arguments: characters)
    func valueOfMoreThan1024BytesIsAFault(character: String, bytes: Int) throws {
        let element = { (count: Int) throws in
            try Self.read(#"{"token":"t","vars":{"a":"\#(String(repeating: character, count: count))"}}"#)
        }
        #expect(try element(1_024 / bytes).variables.first?.value.count == 1_024)
        let fault = TemplateFault("vars.a", "\(1_024 + bytes) bytes, at most 1024")
        #expect(try element(1_024 / bytes + 1).fault == fault)
    }

    @Test func thirtyThirdNameIsAFault() throws {
        let vars = { (count: Int) in (0..<count).map { #""n\#($0)":\#($0)"# }.joined(separator: ",") }
        #expect(try Self.read(#"{"token":"t","vars":{\#(vars(32))}}"#).variables.count == 32)
        let element = try Self.read(#"{"token":"t","vars":{\#(vars(33))}}"#)
        #expect(element.fault == TemplateFault("vars", "more than 32 names"))
    }

    @Test func deepValueIsMalformed() throws {
        let deep = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        // The element and its `vars` are two levels.
        #expect(try Self.read(#"{"token":"t","vars":{"a":\#(deep(62))}}"#).fault?.path == "vars.a")
        for depth in [63, 100_000] {
            #expect(throws: TemplateFault("", "not JSON at byte 87: nested deeper than 64 levels")) {
                try Self.read(#"{"token":"t","vars":{"a":\#(deep(depth))}}"#)
            }
        }
    }

    @Test func partOfALargerTextIsReadInPlace() throws {
        let storage = Array(#"{"token":"other"}¶{"token":"t","vars":{"a":"x"}}¶}"#.utf8)
        let text = Array(#"{"token":"t","vars":{"a":"x"}}"#.utf8)
        let start = 19
        #expect(Array(storage[start..<start + text.count]) == text)
        let element = try RecipientElement(start..<start + text.count, of: storage)
        #expect(Self.values(element) == ["a=x/1"])
        var line: [UInt8] = []
        element.appendCompact(to: &line)
        #expect(line == text)
        // The text ends with its range, and offsets count from its start.
        #expect(throws: TemplateFault("", "not JSON at byte 29: missing comma or closing brace in an object")) {
            try RecipientElement(start..<start + text.count - 1, of: storage)
        }
    }

    @Test func elementsOfAnArrayAreReadInOnePass() throws {
        let text = #"[ {"token":"a"} , {"fid":"b","vars":{"x":1}},{"token":3}]"#
        var scanner = JSONScanner(bytes: Array(text.utf8), maximumDepth: 64)
        try scanner.enter()
        #expect(try scanner.findElement(isFirst: true))
        #expect(try RecipientElement(from: &scanner).recipient.string == "a")
        #expect(try scanner.findElement(isFirst: false))
        #expect(Self.values(try RecipientElement(from: &scanner)) == ["x=1/1"])
        #expect(try scanner.findElement(isFirst: false))
        #expect(throws: TemplateFault("token", "must be a string, not a number")) {
            try RecipientElement(from: &scanner)
        }
    }

    /// Element, its line.
    static let lines: [(String, String)] = [
        (
            " {\n\t\"token\" : \"t\" ,\r\n \"vars\" : { \"a\" : \" x  y \" , \"b\" : 1 } }\n ",
            #"{"token":"t","vars":{"a":" x  y ","b":1}}"#
        ),
        (#"{"vars":{"a":"\u00e9\u0041\/"},"fid":"f"}"#, #"{"vars":{"a":"éA/"},"fid":"f"}"#),
        (
            #"{"token":"t","vars":{"a":"\b\\ \"\n\u2028 "}}"#,
            "{\"token\":\"t\",\"vars\":{\"a\":\"\\b\\\\ \\\"\\n\\u2028 \"}}"
        ),
        // A fault stays.
        (#"{"token":"t", "vars":{"9a":[ 1, {"\u0041":null } ]}}"#, #"{"token":"t","vars":{"9a":[1,{"A":null}]}}"#),
    ]

    @Test(arguments: lines)
    func compactLineReadsAsTheSameElement(text: String, line: String) throws {
        let element = try Self.read(text)
        var bytes = Array("before".utf8)
        element.appendCompact(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "before" + line)
        #expect(line.utf8.count <= text.utf8.count)
        let again = try Self.read(line)
        #expect(again.variables == element.variables)
        #expect(again.fault == element.fault)
        #expect(again.recipient == element.recipient)
        #expect(again.variant == element.variant)
    }
}
