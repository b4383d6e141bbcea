import Testing

@testable import YAMLKit

/// Documents as libyaml reads them, and the limits that are ours.
@Suite struct YAMLReaderTests {
    private static func plain(_ text: String, _ line: Int) -> YAMLNode {
        .scalar(YAMLNode.Scalar(text: text, isPlain: true, line: line))
    }

    @Test func mappingKeepsOrderAndLines() throws {
        let root = try YAMLReader.read("b: 1\na:\n  - x\n  - \"y\"\n")
        let quoted = YAMLNode.scalar(YAMLNode.Scalar(text: "y", isPlain: false, line: 4))
        #expect(
            root
                == .mapping(
                    [
                        YAMLNode.Member(key: Self.plain("b", 1), value: Self.plain("1", 1)),
                        YAMLNode.Member(
                            key: Self.plain("a", 2),
                            value: .sequence([Self.plain("x", 3), quoted], line: 3)
                        ),
                    ],
                    line: 1
                )
        )
    }

    @Test(arguments: ["", "# only a comment\n", "\n\n"])
    func textWithoutDocumentIsNil(_ text: String) throws { #expect(try YAMLReader.read(text) == nil) }

    /// The mapping's own keys count first, then the keys of the first mapping of the list.
    @Test(arguments: [
        ("<<: *x", "a: 1\nb: 2"), ("<<: *x\nb: 9", "a: 1\nb: 9"), ("b: 9\n<<: *x", "b: 9\na: 1"),
        ("<<: [*x, *y]", "a: 1\nb: 2\nc: 4"), ("<<: [*y, *x]", "b: 3\nc: 4\na: 1"), ("<<: []\na: 1", "a: 1"),
        ("<<: { <<: *x, d: 5 }", "a: 1\nb: 2\nd: 5"),
    ])
    func mergeKeyTakesTheMembersOfMappings(text: String, merged: String) throws {
        func members(_ mapping: String) throws -> [String] {
            let lines = mapping.split(separator: "\n").map { "  \($0)\n" }.joined()
            let root = try YAMLReader.read("x: &x { a: 1, b: 2 }\ny: &y { b: 3, c: 4 }\nz:\n\(lines)")
            guard case .mapping(let sections, _) = root, case .mapping(let members, _) = sections[2].value else {
                return []
            }
            return members.map { "\($0.key.text ?? "?"): \($0.value.text ?? "?")" }
        }
        #expect(try members(text) == members(merged))
    }

    @Test func mergeKeyOfAnythingElseIsRefused() throws {
        let error = YAMLError.syntax("<< takes an alias of a mapping, or a list of them", line: 2)
        #expect(throws: error) { try YAMLReader.read("a: 1\n<<: text") }
        #expect(throws: error) { try YAMLReader.read("a: 1\n<<: [{ b: 1 }, text]") }
        #expect(throws: YAMLError.keysGivenTwice(["<<"])) { try YAMLReader.read("<<: {}\n<<: {}") }
        guard case .mapping(let members, _) = try YAMLReader.read("\"<<\": text") else { return #expect(Bool(false)) }
        #expect(members.map(\.key.text) == ["<<"])
    }

    @Test func aliasIsReplacedByItsNode() throws {
        let root = try YAMLReader.read("a: &x { k: v }\nb: *x\n")
        guard case .mapping(let members, _)? = root else { return #expect(Bool(false)) }
        #expect(members[0].value == members[1].value)
    }

    @Test func faultsNameLineAndCause() {
        #expect(throws: YAMLError.syntax("did not find expected ',' or '}'", line: 2)) {
            try YAMLReader.read("a: { b: 1\nc: 2\n")
        }
        #expect(throws: YAMLError.syntax("found undefined alias", line: 1)) { try YAMLReader.read("a: *x") }
        #expect(throws: YAMLError.keysGivenTwice(["a", "b"])) { try YAMLReader.read("a: 1\nb: 2\na: 3\nb: 4\n") }
        #expect(
            throws: YAMLError.syntax("expected a single document in the stream, but found another document", line: 2)
        ) { try YAMLReader.read("a: 1\n---\nb: 1\n") }
    }

    @Test func controlCharactersAreAFaultWithoutALine() {
        #expect(throws: YAMLError.syntax("control characters are not allowed", line: nil)) {
            try YAMLReader.read("a: \u{1}")
        }
    }

    @Test func depthAndAliasesAreBounded() {
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(throws: YAMLError.tooLarge) { try YAMLReader.read(deep) }
        // Each line has ten aliases of the line before: a billion nodes.
        var bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            bomb += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(throws: YAMLError.tooLarge) { try YAMLReader.read(bomb) }
    }

    @Test func depthOfAnAliasIncludesItsNode() throws {
        // Each line puts the line before one level deeper: the last has as many levels as lines.
        func nested(_ lines: Int) -> String {
            (1..<lines).reduce("a0: &a0 [x]\n") { $0 + "a\($1): &a\($1) [*a\($1 - 1)]\n" }
        }
        // The root is a level, too.
        #expect(throws: Never.self) { try YAMLReader.read(nested(YAMLReader.maximumDepth - 1)) }
        #expect(throws: YAMLError.tooLarge) { try YAMLReader.read(nested(YAMLReader.maximumDepth)) }
        // Keys and values count alike, and an anchor inside another one.
        let deep = String(repeating: "[", count: 20) + String(repeating: "]", count: 20)
        #expect(throws: Never.self) { try YAMLReader.read("a: &a {k: &b \(deep)}\nc: *b\n") }
        let tall = "a: &a " + String(repeating: "{k: ", count: 11) + deep + String(repeating: "}", count: 11) + "\n"
        for text in ["b: {c: *a}", "? {? *a : x}\n: y"] {
            #expect(throws: Never.self, "\(text)") { try YAMLReader.read(tall + text) }
        }
        for text in ["b: {c: {d: *a}}", "? {? {? *a : x} : x}\n: y"] {
            #expect(throws: YAMLError.tooLarge, "\(text)") { try YAMLReader.read(tall + text) }
        }
    }

    @Test func randomBytesNeverTrap() {
        var state: UInt64 = 1
        let alphabet = Array("a: -[]{}&*!|>'\"%@`#,?\n\t\u{85}é~0")
        for _ in 0..<3_000 {
            var text = ""
            for _ in 0..<40 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text.append(alphabet[Int(state >> 33) % alphabet.count])
            }
            _ = try? YAMLReader.read(text)
        }
    }
}
