/// A file of time zone rules that cannot be used.
public struct ZoneFault: Error, Equatable, Sendable {
    /// What is wrong with the file.
    public let reason: String

    public init(_ reason: String) { self.reason = reason }
}

/// The offsets of one time zone from UTC, past and future, read from the bytes of a TZif file.
///
/// RFC 8536, and RFC 9636 for version 4. Files with leap seconds (`right/…`) are refused: Unix time has none.
public struct ZoneRules: Equatable, Sendable {
    /// No zone is further from UTC, in seconds; the limits of RFC 8536.
    static let offsetRange: ClosedRange<Int64> = -89_999...93_599
    /// Largest distance from 1970, in seconds: more than 30,000 years. A time beyond it counts as this far.
    static let farthest: Int64 = 1_000_000_000_000

    /// A time from which an offset applies, in Unix seconds.
    struct Transition: Equatable, Sendable {
        let at: Int64
        /// Seconds east of UTC.
        let offset: Int64
    }

    /// A span of time with one offset.
    struct Span: Equatable, Sendable {
        /// Seconds east of UTC.
        let offset: Int64
        /// Unix seconds of the span's end; nil when it has none. The next span may have the same offset.
        let end: Int64?
    }

    /// In ascending order, no two at the same time.
    let transitions: [Transition]
    /// Offset before the first transition.
    let firstOffset: Int64
    /// Rule for the time from the last transition on; nil when the last offset stays.
    let rule: PosixRule?

    /// - Parameter bytes: the whole file.
    /// - Throws: for the first part of the file that breaks its format, and for leap seconds.
    public init(bytes: [UInt8]) throws(ZoneFault) {
        self = try ZoneFileReader.read(bytes)
    }

    init(transitions: [Transition], firstOffset: Int64, rule: PosixRule?) {
        self.transitions = transitions
        self.firstOffset = firstOffset
        self.rule = rule
    }

    /// Seconds east of UTC.
    ///
    /// - Parameter seconds: Unix seconds. Times more than 30,000 years away count as the last within them.
    public func offsetSeconds(at seconds: Int64) -> Int { Int(span(at: seconds).offset) }

    /// The span of one offset around a time.
    func span(at seconds: Int64) -> Span {
        let seconds = min(max(seconds, -Self.farthest), Self.farthest)
        // The first transition after the time.
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].at <= seconds { low = middle + 1 } else { high = middle }
        }
        if low < transitions.count {
            let offset = low == 0 ? firstOffset : transitions[low - 1].offset
            return Span(offset: offset, end: transitions[low].at)
        }
        if let rule { return rule.span(at: seconds) }
        return Span(offset: transitions.last?.offset ?? firstOffset, end: nil)
    }

    /// The first moment at which a clock of the zone shows a local time or a later one, in Unix seconds.
    ///
    /// A local time that the clock skips has the moment of the skip. A local time that the clock repeats has the first
    /// of its moments.
    ///
    /// - Parameter local: the local date and time as seconds since 1970-01-01 00:00 on that clock.
    public func firstMoment(ofLocal local: Int64) -> Int64 {
        // Half of what span(at:) tells apart, so that the end of each span leads to the next one.
        let local = min(max(local, -Self.farthest / 2), Self.farthest / 2)
        var from = local - Self.offsetRange.upperBound
        while true {
            let span = span(at: from)
            let moment = max(from, local - span.offset)
            guard let end = span.end, moment >= end else { return moment }
            from = end
        }
    }
}
