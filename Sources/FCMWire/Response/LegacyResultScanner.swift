internal import FanfareJSON
internal import FanfareModel

/// Reads the answer to a multicast that is written as FCM writes it, in one pass and without a tree of values: a
/// thousand results come in each. Whatever differs in the least is the parser's to judge.
struct LegacyResultScanner {
    private let body: [UInt8]
    private var next = 0

    private init(_ body: [UInt8]) { self.body = body }

    /// The results, in their order; nil when the body has to be read as a whole.
    static func results(_ body: [UInt8], most: Int) -> [LegacyAnswer.Entry]? {
        var scanner = LegacyResultScanner(body)
        return scanner.results(most: most)
    }

    private mutating func results(most: Int) -> [LegacyAnswer.Entry]? {
        for name in Self.counters {
            guard pass(name), passNumber() else { return nil }
        }
        guard pass(Self.resultsKey) else { return nil }
        var entries: [LegacyAnswer.Entry] = []
        entries.reserveCapacity(most)
        repeat {
            if pass(Self.messageKey) {
                guard let id = text() else { return nil }
                entries.append(.accepted(messageID: id, canonical: nil))
            } else if pass(Self.errorKey) {
                guard let code = text() else { return nil }
                entries.append(.rejected(code: code))
            } else {
                return nil
            }
            guard pass(Self.closeBrace) else { return nil }
        } while pass(Self.comma)
        guard pass(Self.end), next == body.count else { return nil }
        return entries
    }

    private mutating func pass(_ bytes: [UInt8]) -> Bool {
        guard body.count - next >= bytes.count else { return false }
        for offset in bytes.indices where body[next + offset] != bytes[offset] { return false }
        next += bytes.count
        return true
    }

    private mutating func passNumber() -> Bool {
        let start = next
        while next < body.count, body[next] &- UInt8(ascii: "0") < 10 { next += 1 }
        // A zero leads no other digit.
        return next > start && (body[start] != UInt8(ascii: "0") || next == start + 1)
    }

    /// Plain ASCII, up to its quote, and not empty; an escape, or a byte above, is the parser's to judge.
    private mutating func text() -> String? {
        let start = next
        while next < body.count, body[next] >= 0x20, body[next] < 0x7F, body[next] != 0x22, body[next] != 0x5C {
            next += 1
        }
        guard next > start, next < body.count, body[next] == 0x22 else { return nil }
        defer { next += 1 }
        return String(decoding: body[start..<next], as: UTF8.self)
    }

    private static let counters = ["{\"multicast_id\":", ",\"success\":", ",\"failure\":", ",\"canonical_ids\":"]
        .map { Array($0.utf8) }
    private static let resultsKey = Array(",\"results\":[".utf8)
    private static let messageKey = Array("{\"message_id\":\"".utf8)
    private static let errorKey = Array("{\"error\":\"".utf8)
    private static let (closeBrace, comma, end) = (Array("}".utf8), Array(",".utf8), Array("]}".utf8))
}
