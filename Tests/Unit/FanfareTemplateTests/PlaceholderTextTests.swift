import FanfareTemplate
import Testing

@Suite struct PlaceholderTextTests {
    /// The text with values `<name>` or `<name|fallback>`, so that each part can be seen.
    static func shown(_ text: String) throws(PlaceholderError) -> String {
        try PlaceholderText(text).filled { name, fallback in "<\(name)\(fallback.map { "|" + $0 } ?? "")>" }
    }

    static let longest = "a" + String(repeating: "9", count: 31)

    static let wellFormed: [(String, String)] = [
        ("", ""), ("Hi", "Hi"), ("é{中}😀", "é{中}😀"), ("}}", "}}"), ("a } b }} c", "a } b }} c"), ("{", "{"),
        ("a{", "a{"),
        ("{ {", "{ {"), ("|", "|"),
        ("{{name}}", "<name>"), ("Hi {{name}}!", "Hi <name>!"), ("{{a}}{{b}}{{a}}", "<a><b><a>"),
        ("{{_}}", "<_>"), ("{{A_9}}", "<A_9>"), ("{{\(longest)}}", "<\(longest)>"),
        ("{{a|}}", "<a|>"), ("{{a|b}}", "<a|b>"), ("{{a|b|c}}", "<a|b|c>"), ("{{a| b }}", "<a| b >"),
        ("{{a|b}c}}", "<a|b}c>"), ("{{a|{b}}", "<a|{b>"), ("{{a|{}}", "<a|{>"), ("{{a|é\n\"\\😀}}", "<a|é\n\"\\😀>"),
        // A fallback ends with the first `}}`.
        ("{{a|b}}}", "<a|b>}"), ("{{a|}}}}", "<a|>}}"), ("{{a}}}", "<a>}"), ("{{a}}}}", "<a>}}"),
        ("{{{{", "{{"), ("{{{{}}", "{{}}"), ("{{{{a}}}}", "{{a}}}}"), ("a{{{{b", "a{{b"), ("{{{{{{{{", "{{{{"),
        ("{{{{{a}}", "{{{a}}"), ("{{{{{{a}}", "{{<a>"), ("{{a}}{{{{", "<a>{{"),
        ("{{a|{{{{}}", "<a|{{>"), ("{{a|{{{{b}}}}", "<a|{{b>}}"), ("{{a|{{{{{}}", "<a|{{{>"),
    ]

    @Test(arguments: wellFormed)
    func wellFormedTextSplitsFromLeftToRight(text: String, shown: String) throws {
        #expect(try Self.shown(text) == shown)
    }

    static let malformed: [(String, PlaceholderError)] = [
        ("{{", .unclosed(offset: 0)), ("a {{name", .unclosed(offset: 2)), ("{{a}", .unclosed(offset: 0)),
        ("{{a|b", .unclosed(offset: 0)), ("{{a|b}", .unclosed(offset: 0)), ("{{{", .unclosed(offset: 0)),
        ("{{{{{{", .unclosed(offset: 4)), ("}}{{", .unclosed(offset: 2)), ("é{{a", .unclosed(offset: 2)),
        ("{{{{a}}{{b", .unclosed(offset: 7)),
        ("{{}}", .badName(offset: 0)), ("{{|a}}", .badName(offset: 0)), ("{{ a}}", .badName(offset: 0)),
        ("{{a }}", .badName(offset: 0)), ("{{9a}}", .badName(offset: 0)), ("{{a-b}}", .badName(offset: 0)),
        ("{{é}}", .badName(offset: 0)), ("{{a.b|c}}", .badName(offset: 0)), ("{{{a}}", .badName(offset: 0)),
        ("{{{a}}}", .badName(offset: 0)), ("a{{{{{{{a}}", .badName(offset: 5)), ("{{:a}}", .badName(offset: 0)),
        ("{{\(longest)9}}", .badName(offset: 0)), ("{{\(longest)9|a}}", .badName(offset: 0)),
        ("{{9|a}}", .badName(offset: 0)), ("{{9|{{b}}}}", .badName(offset: 0)), ("{{9|", .unclosed(offset: 0)),
        ("{{a} {{b}}", .badName(offset: 0)),
        ("{{a|{{b}}}}", .insideFallback(offset: 4)), ("{{a|{{", .insideFallback(offset: 4)),
        ("{{a|{{{b}}", .insideFallback(offset: 4)), ("{{a|{{{{{{}}", .insideFallback(offset: 8)),
    ]

    @Test(arguments: malformed)
    func malformedTextIsRefusedAtItsPlaceholder(text: String, error: PlaceholderError) {
        #expect(throws: error) { try PlaceholderText(text) }
    }

    @Test func errorsReadAsRules() {
        #expect(PlaceholderError.unclosed(offset: 3).rule == "the placeholder at byte 3 has no closing }}")
        #expect(
            PlaceholderError.badName(offset: 0).rule
                == "the placeholder at byte 0 has a name that is not [A-Za-z_][A-Za-z0-9_]{0,31}"
        )
        #expect(
            PlaceholderError.insideFallback(offset: 9).rule
                == "the placeholder at byte 9 is inside a fallback, write {{{{ for a literal {{"
        )
    }

    @Test func namesKeepTheirOrderAndRepetitions() throws {
        #expect(try PlaceholderText("{{b}}{{{{{{a|x}} {{b|y}}").names.map(\.text) == ["b", "a", "b"])
    }

    @Test(arguments: [
        ("", false), ("{", false), ("{ {", false), ("a{b{", false), ("}}", false), ("{{", true), ("é{{", true),
        ("{a{{", true), ("{{{{", true),
    ])
    func bracesAreFoundOnlySideBySide(text: String, hasBraces: Bool) {
        #expect(PlaceholderText.hasBraces(text) == hasBraces)
    }
}

@Suite struct PlaceholderNameTests {
    static let names = (1...32).flatMap { length in
        [String(repeating: "a", count: length), String(repeating: "b", count: length - 1) + "_"]
    }

    @Test(arguments: names)
    func namesOfEveryLengthReadBack(name: String) {
        #expect(PlaceholderName(name.utf8)?.text == name)
    }

    @Test func differentNamesDiffer() {
        // Prefixes of each other, and names that differ in one byte of each word.
        let all = Set(Self.names.compactMap { PlaceholderName($0.utf8) })
        #expect(all.count == Set(Self.names).count)
    }

    @Test(arguments: ["", "9", "9a", "a-", "-", " a", "a ", "é", "a\0", "\0", String(repeating: "a", count: 33)])
    func otherTextIsNoName(text: String) {
        #expect(PlaceholderName(text.utf8) == nil)
    }
}
