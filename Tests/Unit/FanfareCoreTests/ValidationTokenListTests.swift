import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

@Suite struct ValidationTokenListTests {
    private func tokens(_ text: String) -> [String]? {
        guard case .tokens(let tokens)? = EntryBuilder.job(["tokens": text])?.target else { return nil }
        return Array(tokens)
    }

    @Test func scanKeepsOrderAndRepetition() {
        #expect(tokens("[\"b\",\"a\",\"b\"]") == ["b", "a", "b"])
        #expect(tokens(" [ \"x_:.-9\"\n,\t\"y\" ] ") == ["x_:.-9", "y"])
        #expect(tokens("[\"\\u0061\\u003Ab\"]") == ["a:b"])
        #expect(tokens("[\"\(String(repeating: "t", count: 1_024))\"]")?.first?.utf8.count == 1_024)
    }

    /// Eight bytes are looked at together: each byte has to be told apart wherever it stands among them.
    @Test func everyByteOfATokenIsChecked() {
        let alphabet = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.-".utf8)
        for byte in UInt8.min ... .max {
            for (before, behind) in [
                (0, 0), (0, 7), (1, 7), (3, 4), (7, 0), (7, 9), (8, 1), (15, 3), (16, 20), (31, 0), (25, 8),
            ] {
                let token =
                    [UInt8](repeating: UInt8(ascii: "z"), count: before) + [byte]
                    + [UInt8](repeating: UInt8(ascii: "Z"), count: behind)
                let fields: [(name: String, value: [UInt8])] = [
                    ("tokens", Array("[\"".utf8) + token + Array("\",\"x\"]".utf8)), ("message", Array("{}".utf8)),
                ]
                var tokens: [String]?
                if case .accept(let job) = EntryBuilder.validator().decide(entryID: "1-1", fields: fields),
                    case .tokens(let list) = job.target
                {
                    tokens = Array(list)
                }
                let text = String(decoding: token, as: UTF8.self)
                #expect(tokens == (alphabet.contains(byte) ? [text, "x"] : nil), "\(byte) behind \(before)")
                guard byte < 0x80 else { continue }
                let part = SharedText(3..<3 + token.count, of: [0, 1, 2] + token + [3])
                let isToken = (RecipientRules.isToken(text), RecipientRules.isToken(part))
                #expect(isToken == (alphabet.contains(byte), alphabet.contains(byte)), "\(byte) behind \(before)")
            }
        }
        #expect(!RecipientRules.isToken("") && !RecipientRules.isToken("é") && !RecipientRules.isToken("1234567é"))
        #expect(RecipientRules.isToken(String(repeating: "t", count: 1_024)))
        #expect(!RecipientRules.isToken(String(repeating: "t", count: 1_025)))
    }

    @Test func millionTokensAreScannedInOnePass() {
        var text = Array("[".utf8)
        for index in 0..<1_000_000 { text.append(contentsOf: "\"token-\(index)\",".utf8) }
        text.append(contentsOf: "\"last\"]".utf8)
        let fields: [(name: String, value: [UInt8])] = [("tokens", text), ("message", Array("{}".utf8))]
        guard case .accept(let job) = EntryBuilder.validator().decide(entryID: "1-1", fields: fields),
            case .tokens(let tokens) = job.target
        else {
            Issue.record("rejected")
            return
        }
        #expect(tokens.count == 1_000_001)
        #expect(tokens[999_999] == "token-999999")
        #expect(tokens.last == "last")
    }

    /// The general parser is the model: whatever it takes as an array of good tokens, the scanner takes, and nothing
    /// else.
    @Test func scannerAgreesWithTheJSONParser() {
        var random = SeededGenerator(seed: 17)
        let pieces = [
            "[", "]", ",", "\"", "\"ab\"", "\"c\"", " ", "\\", "\\u0061", "é", "1", "null", "{", "\n", "\"\"",
        ]
        var agreedOn = (taken: 0, refused: 0)
        for _ in 0..<20_000 {
            var text = Bool.random(using: &random) ? "[" : ""
            for _ in 0..<Int.random(in: 0...7, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
            if Bool.random(using: &random) { text += "]" }
            let parsed = (try? JSONParser.parse(Array(text.utf8)))?.array?.map(\.string)
            let strings = parsed?.compactMap { $0 } ?? []
            let isGood =
                !strings.isEmpty && strings.count == parsed?.count
                && strings.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { 0x61...0x7A ~= $0 } }
            #expect(tokens(text) == (isGood ? strings : nil), "\(text)")
            if isGood { agreedOn.taken += 1 } else { agreedOn.refused += 1 }
        }
        #expect(agreedOn.taken > 100 && agreedOn.refused > 100)
    }
}
