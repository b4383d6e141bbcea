import FanfareJSON
import Foundation
import Testing

/// Seeded documents and mutations of them, read by Fanfare's parser and by Foundation's.
@Suite struct JSONFuzzTests {
    @Test(arguments: UInt64(1)...8)
    func agreesWithFoundation(seed: UInt64) throws {
        var random = Generator(state: seed)
        var accepted = 0
        for _ in 0..<1_500 {
            var bytes = random.document(depth: 0).jsonBytes
            if random.below(4) > 0 { for _ in 0...random.below(3) { random.mutate(&bytes) } }
            let ours = try? JSONParser.parse(bytes)
            // Foundation sniffs other encodings from zero bytes and marks, and is not strict about what surrounds them.
            if bytes.contains(0) || bytes.starts(with: [0xEF]) || bytes.starts(with: [0xFE])
                || bytes.starts(with: [0xFF])
            {
                continue
            }
            let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])
            let text = String(decoding: bytes, as: UTF8.self)
            if let ours, let theirs {
                accepted += 1
                #expect(Self.equal(ours, theirs), "\(text)")
            } else if ours != nil {
                // Numbers beyond a double are JSON; Foundation alone refuses them.
                #expect(text.contains(/[eE][+]?\d{3}/) || text.contains(/\d{300}/), "only Fanfare accepts \(text)")
            } else if theirs != nil {
                Issue.record("only Foundation accepts \(text)")
            }
        }
        #expect(accepted > 300)
    }

    /// Whatever the bytes, there is an answer.
    @Test func neverTraps() {
        var random = Generator(state: 99)
        let alphabet = Array(#"{}[]",:\u0d8tfn-+.eE1 "#.utf8) + [0xC3, 0xED, 0xF0, 0x9F, 0x80, 0xFF, 0]
        for _ in 0..<20_000 {
            let bytes = (0..<random.below(24)).map { _ in alphabet[random.below(alphabet.count)] }
            if let value = try? JSONParser.parse(bytes) {
                #expect((try? JSONParser.parse(value.jsonBytes)) == value)
            }
        }
    }

    private static func equal(_ ours: JSONValue, _ theirs: Any) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .bool(let flag): return (theirs as? NSNumber)?.boolValue == flag
        case .number(let number):
            guard let other = theirs as? NSNumber else { return false }
            if number.int64 == other.int64Value { return true }
            // Foundation's reading of long fractions can be off by a few steps.
            guard let value = number.double else { return false }
            return abs(value - other.doubleValue) <= 4 * value.ulp
        case .string(let text): return (theirs as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
        case .array(let elements):
            guard let others = theirs as? [Any], others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { equal($0, $1) }
        case .object(let object):
            guard let others = theirs as? [String: Any] else { return false }
            // With repeated names the two readers differ on purpose: Fanfare lets the last win, as FCM does.
            if object.duplicateKey != nil { return true }
            return others.count == object.count
                && object.members.allSatisfy { member in others[member.key].map { equal(member.value, $0) } ?? false }
        }
    }
}

private struct Generator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func document(depth: Int) -> JSONValue {
        switch below(depth > 4 ? 5 : 8) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2: return .number(JSONNumber(Int64(truncatingIfNeeded: next() >> UInt64(below(64)))))
        case 3, 4: return .string(text())
        case 5, 6: return .array((0..<below(4)).map { _ in document(depth: depth + 1) })
        default:
            return .object(
                JSONObject((0..<below(4)).map { _ in .init(key: text(), value: document(depth: depth + 1)) })
            )
        }
    }

    mutating func text() -> String {
        let pieces = ["a", "token", "\"", "\\", "\n", "\u{1}", "é", "中", "😀", "/", " ", "\u{2028}"]
        return (0..<below(6)).map { _ in pieces[below(pieces.count)] }.joined()
    }

    mutating func mutate(_ bytes: inout [UInt8]) {
        let syntax = Array(#"{}[]",:\u0123456789eE+-. tfnabd"#.utf8)
        let at = below(bytes.count + 1)
        switch below(5) {
        case 0: bytes.insert(syntax[below(syntax.count)], at: at)
        case 1: if at < bytes.count { bytes.remove(at: at) }
        case 2: if at < bytes.count { bytes[at] = syntax[below(syntax.count)] }
        case 3: if at < bytes.count { bytes[at] = UInt8(truncatingIfNeeded: next()) }
        default: bytes.removeLast(min(bytes.count, below(4)))
        }
    }
}
