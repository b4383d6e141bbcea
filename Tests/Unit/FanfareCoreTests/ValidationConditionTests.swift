import FanfareCore
import FanfareModel
import Testing

@Suite struct ValidationConditionTests {
    static let bad: [BadEntry] = [
        BadEntry(["condition": ""], "condition: empty"),
        BadEntry(["condition": "  "], "condition: empty"),
        BadEntry(["condition": "news"], "condition: expected ( or a topic in single quotes at byte 0"),
        BadEntry(["condition": "\"a\" in topics"], "condition: expected ( or a topic in single quotes at byte 0"),
        BadEntry(["condition": "'a in topics"], "condition: the quote at byte 0 is not closed"),
        BadEntry(["condition": "'' in topics"], "condition: topic at byte 1: empty"),
        BadEntry(
            ["condition": "'a b' in topics"],
            "condition: topic at byte 1: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"
        ),
        BadEntry(["condition": "'a' on topics"], "condition: expected in at byte 4"),
        BadEntry(["condition": "'a' intopics"], "condition: expected in at byte 4"),
        BadEntry(["condition": "'a' in topic"], "condition: expected topics at byte 7"),
        BadEntry(["condition": "'a' in topicsx"], "condition: expected topics at byte 7"),
        BadEntry(["condition": "'a'"], "condition: expected in at byte 3"),
        BadEntry(["condition": "'a' in topics &&"], "condition: expected ( or a topic in single quotes at byte 16"),
        BadEntry(["condition": "'a' in topics & 'b' in topics"], "condition: expected && or || at byte 14"),
        BadEntry(["condition": "'a' in topics and 'b' in topics"], "condition: expected && or || at byte 14"),
        BadEntry(["condition": "('a' in topics"], "condition: expected &&, || or ) at byte 14"),
        BadEntry(["condition": "'a' in topics)"], "condition: expected && or || at byte 13"),
        BadEntry(["condition": "()"], "condition: expected ( or a topic in single quotes at byte 1"),
        BadEntry(
            ["condition": "!('a' in topics)"],
            "condition: ! at byte 0: FCM no longer documents negation; subscribe the others to a topic of their own"
        ),
        BadEntry(["condition": "\n \r\n"], "condition: empty"),
        BadEntry(
            ["condition": "'a\nb' in topics"],
            "condition: topic at byte 1: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"
        ),
        BadEntry(["condition": "'a' in topics\u{A0}|| 'b' in topics"], "condition: expected && or || at byte 13"),
        BadEntry(
            ["condition": String(repeating: "(", count: 17)],
            "condition: nested deeper than 16 levels"
        ),
        BadEntry(
            ["condition": String(repeating: " ", count: 8_193)],
            "condition: 8193 bytes, at most 8192"
        ),
        BadEntry(["condition": conjunction(of: 6)], "condition: 6 topics, at most 5"),
        BadEntry(["condition": conjunction(of: 4)], over: .legacy, "condition: 3 operators, at most 2"),
        BadEntry(["condition": conjunction(of: 4)], over: .xmpp, "condition: 3 operators, at most 2"),
    ]

    @Test(arguments: bad) func badConditionIsRejectedWithItsPosition(_ row: BadEntry) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    @Test(arguments: [
        "'a' in topics", "'a'in topics", " ( 'a' IN Topics ) ", "'a' in topics&&'b' in topics||'c' in topics",
        "('a' in topics && 'b' in topics) || 'a' in topics", "\t'~%.-_9' in topics",
        String(repeating: "(", count: 16) + "'a' in topics" + String(repeating: ")", count: 16),
    ])
    func conditionIsPassedOnUnchanged(_ condition: String) {
        #expect(EntryBuilder.job(["condition": condition])?.target == .condition(condition))
        #expect(EntryBuilder.job(["condition": condition], over: .legacy)?.target == .condition(condition))
    }

    /// As YAML and templates fold a long text.
    @Test(arguments: [
        ("'a' in topics\n", "'a' in topics "),
        ("\n'a' in topics\n  || 'b' in topics", " 'a' in topics   || 'b' in topics"),
        ("'a'\r\nin\rtopics", "'a'  in topics"),
        ("(\n'a' in topics\n)\n&&\n'b' in topics", "( 'a' in topics ) && 'b' in topics"),
    ])
    func lineBreaksBetweenTermsBecomeBlanks(_ given: String, _ sent: String) {
        #expect(EntryBuilder.job(["condition": given])?.target == .condition(sent))
        #expect(EntryBuilder.job(["condition": given], over: .xmpp)?.target == .condition(sent))
    }

    @Test func v1AllowsFiveTopicsAndLegacyThree() {
        #expect(EntryBuilder.reason(["condition": Self.conjunction(of: 5)]) == nil)
        #expect(EntryBuilder.reason(["condition": Self.conjunction(of: 3)], over: .legacy) == nil)
    }

    /// Conditions made by the grammar are taken; with one word, operator or parenthesis removed, they are not.
    @Test func generatedConditionsAreAcceptedAndBrokenOnesRejected() {
        var random = SeededGenerator(seed: 41)
        for _ in 0..<2_000 {
            var pieces: [String] = []
            Self.grow(&pieces, topics: Int.random(in: 1...5, using: &random), depth: 0, &random)
            let text = Self.joined(pieces, &random)
            #expect(EntryBuilder.reason(["condition": text]) == nil, "\(text)")

            guard let victim = pieces.indices.randomElement(using: &random) else { continue }
            var broken = pieces
            broken.remove(at: victim)
            let brokenText = Self.joined(broken, &random)
            #expect(EntryBuilder.reason(["condition": brokenText])?.hasPrefix("condition: ") == true, "\(brokenText)")
        }
    }

    private static func conjunction(of count: Int) -> String {
        (0..<count).map { "'t\($0)' in topics" }.joined(separator: " && ")
    }

    private static func grow(_ pieces: inout [String], topics: Int, depth: Int, _ random: inout SeededGenerator) {
        if topics == 1 {
            let parentheses = depth < 6 ? Int.random(in: 0...2, using: &random) : 0
            pieces += Array(repeating: "(", count: parentheses)
            pieces += ["'n\(Int.random(in: 0...9, using: &random))'", "in", "TOPICS"]
            pieces += Array(repeating: ")", count: parentheses)
            return
        }
        let left = Int.random(in: 1..<topics, using: &random)
        let wrap = Bool.random(using: &random)
        if wrap { pieces.append("(") }
        grow(&pieces, topics: left, depth: depth + 1, &random)
        pieces.append(Bool.random(using: &random) ? "&&" : "||")
        grow(&pieces, topics: topics - left, depth: depth + 1, &random)
        if wrap { pieces.append(")") }
    }

    private static func joined(_ pieces: [String], _ random: inout SeededGenerator) -> String {
        pieces.map { $0 + String(repeating: " ", count: Int.random(in: 1...2, using: &random)) }.joined()
    }
}
