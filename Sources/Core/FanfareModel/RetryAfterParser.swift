/// The wait that an answer asks for.
public enum RetryAfter: Equatable, Sendable {
    /// It asks for none.
    case none
    /// In milliseconds, 1 to ``RetryAfterParser/maximumMs``.
    case wait(ms: Int64)
    /// It asks for a wait that cannot be read. In milliseconds, ``RetryAfterParser/unreadableMs`` or more.
    case unreadable(ms: Int64)

    /// The least wait, in milliseconds; nil for none.
    public var leastMs: Int64? {
        switch self {
        case .none: nil
        case .wait(let ms), .unreadable(let ms): ms
        }
    }

    /// The longer of two waits; unreadable if one of them is.
    public func joined(with other: RetryAfter) -> RetryAfter {
        let longest = max(leastMs ?? 0, other.leastMs ?? 0)
        if case .unreadable = self { return .unreadable(ms: longest) }
        if case .unreadable = other { return .unreadable(ms: longest) }
        return longest > 0 ? .wait(ms: longest) : .none
    }
}

/// Reads a `Retry-After` header (RFC 9110, 10.2.3) in every form that a peer may send. What cannot be read never makes a
/// wait shorter.
///
/// | value | means |
/// |---|---|
/// | no header; `0`; a date that has passed | no wait is asked for |
/// | `120`, `"120"`, `1.5` | seconds, rounded up; at most ``maximumMs`` |
/// | a date in one of the three forms of ``HTTPDate`` | until then, measured from the answer's `Date`, else from this machine's time |
/// | several values, repeated or joined by commas | the longest of them |
/// | empty, negative, words, another or an impossible date; one such value among several | unreadable: at least 60 s |
/// | a date beside a `Date` that cannot be read | unreadable, too |
public enum RetryAfterParser {
    /// Six hours. A longer wait says the same as this one: past the end of trying.
    public static let maximumMs: Int64 = 6 * 60 * 60 * 1_000
    /// The wait after a value that cannot be read: FCM's least wait after a rate limit.
    public static let unreadableMs: Int64 = 60_000
    /// A longer header is not read.
    private static let maximumBytes = 1_024

    /// - Parameters:
    ///   - value: the header's value, repeated headers joined by commas; nil without the header.
    ///   - date: the same answer's `Date` header.
    ///   - nowMs: Unix milliseconds.
    public static func read(_ value: String?, date: String?, nowMs: Int64) -> RetryAfter {
        guard let value else { return .none }
        let unreadable = RetryAfter.unreadable(ms: unreadableMs)
        guard value.utf8.count <= maximumBytes, value.utf8.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 0 else {
            return unreadable
        }
        let elements = elements(value)
        guard let first = elements.first else { return unreadable }
        return elements.dropFirst().reduce(read(first, date: date, nowMs: nowMs)) {
            $0.joined(with: read($1, date: date, nowMs: nowMs))
        }
    }

    /// Reads a duration of protobuf's JSON, such as `1.5s`.
    public static func read(duration: String) -> RetryAfter {
        guard duration.utf8.last == UInt8(ascii: "s") else { return .unreadable(ms: unreadableMs) }
        return seconds(Array(duration.utf8.dropLast())) ?? .unreadable(ms: unreadableMs)
    }

    private static func read(_ element: [UInt8], date: String?, nowMs: Int64) -> RetryAfter {
        if let seconds = seconds(element) { return seconds }
        guard let then = HTTPDate.milliseconds(element, nowMs: nowMs) else { return .unreadable(ms: unreadableMs) }
        // Of several dates the earliest: the wait is the longest.
        let dates = date.map { elements($0).map { HTTPDate.milliseconds($0, nowMs: nowMs) } } ?? []
        let reference = dates.compactMap { $0 }.min()
        let (wait, overflow) = then.subtractingReportingOverflow(reference ?? nowMs)
        let bounded = overflow ? (then < 0 ? 0 : maximumMs) : max(0, min(wait, maximumMs))
        if date != nil, reference == nil || dates.contains(nil) { return .unreadable(ms: max(unreadableMs, bounded)) }
        return bounded > 0 ? .wait(ms: bounded) : .none
    }

    /// Whole seconds, or a fraction that is rounded up; nil for anything else.
    private static func seconds(_ text: [UInt8]) -> RetryAfter? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ DecimalText.isDigits($0) }) else { return nil }
        let isFraction = parts.count == 2 && parts[1].contains { $0 != UInt8(ascii: "0") }
        let most = maximumMs / 1_000
        // Digits beyond 64 bits are more than the most.
        let whole = min(DecimalText.parse(parts[0]) ?? most, most)
        let ms = min(whole + (isFraction ? 1 : 0), most) * 1_000
        return ms > 0 ? .wait(ms: ms) : RetryAfter.none
    }

    /// The values of a header, without blanks and quotes. A comma after a weekday's name belongs to a date.
    private static func elements(_ text: String) -> [[UInt8]] {
        var elements: [[UInt8]] = []
        for part in text.utf8.split(separator: UInt8(ascii: ",")) {
            let part = Array(Array(part)[...].trimmingBlanks.filter { $0 != UInt8(ascii: "\"") })
            guard !part.isEmpty else { continue }
            if let weekday = elements.last, HTTPDate.isWeekday(weekday) {
                elements[elements.count - 1] = weekday + Array(", ".utf8) + part
            } else {
                elements.append(part)
            }
        }
        return elements
    }
}
