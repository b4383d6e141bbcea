internal import FanfareJSON
internal import FanfareModel
internal import Glibc

/// Reads the answer to a multicast that is written as FCM writes it, in one pass and without a tree of values: a
/// thousand results come in each. Whatever differs in the least is the parser's to judge.
struct LegacyResultScanner {
    /// Results in order: message ids by their place, and the codes of results without one.
    struct Results {
        var ids: MessageIDs
        /// By their places in the request, one of each that has no id.
        var codes: [Int: String] = [:]
    }

    private let body: [UInt8]
    private var next = 0

    private init(_ body: [UInt8]) { self.body = body }

    /// The results, in their order; nil when the body has to be read as a whole.
    static func results(_ body: [UInt8], most: Int) -> Results? {
        guard body.count < Int32.max else { return nil }
        var scanner = LegacyResultScanner(body)
        return scanner.results(most: most)
    }

    private mutating func results(most: Int) -> Results? {
        for name in Self.counters {
            guard pass(name), passNumber() else { return nil }
        }
        guard pass(Self.resultsKey) else { return nil }
        var results = Results(ids: MessageIDs(within: body))
        results.ids.reserve(most)
        repeat {
            if pass(Self.messageKey) {
                guard let id = text() else { return nil }
                results.ids.append(id)
            } else if pass(Self.errorKey) {
                guard let code = text() else { return nil }
                results.codes[results.ids.count] = String(decoding: body[code], as: UTF8.self)
                results.ids.appendNone()
            } else {
                return nil
            }
            guard pass(Self.closeBrace) else { return nil }
        } while pass(Self.comma)
        guard pass(Self.end), next == body.count else { return nil }
        return results
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
    private mutating func text() -> Range<Int>? {
        let start = next
        let end = unsafe body.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress, start < bytes.count,
                let quote = unsafe memchr(base + start, Int32(UInt8(ascii: "\"")), bytes.count - start)
            else { return nil }
            let end = unsafe base.distance(to: UnsafeRawPointer(quote))
            let text = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            let isPlain = unsafe WideBytes.none(of: text) { part in
                WideBytes.below(0x20, in: part) | WideBytes.equal("\\", in: part) | WideBytes.equal("\u{7F}", in: part)
                    | part & WideBytes.highs
            }
            return isPlain && end > start ? end : nil
        }
        guard let end else { return nil }
        next = end + 1
        return start..<end
    }

    private static let counters = ["{\"multicast_id\":", ",\"success\":", ",\"failure\":", ",\"canonical_ids\":"]
        .map { Array($0.utf8) }
    private static let resultsKey = Array(",\"results\":[".utf8)
    private static let messageKey = Array("{\"message_id\":\"".utf8)
    private static let errorKey = Array("{\"error\":\"".utf8)
    private static let (closeBrace, comma, end) = (Array("}".utf8), Array(",".utf8), Array("]}".utf8))
}
