internal import FanfareModel

/// The job field `send_window`: the hours of every day in which sends may begin, such as `09:00-21:00 Europe/Madrid`.
///
/// The window opens at the first time and closes at the second. If the second is the earlier one, the window closes on
/// the next day. `24:00` is the same as `00:00` and may only be the second.
///
/// On days of clock changes both times follow one rule, the first moment at which a clock of the zone shows the time or
/// a later one:
/// - A time that the clock skips moves forward to the moment of the skip. A window that lies in the gap does not open.
/// - A time that the clock repeats counts once, the first time. A window that has closed does not open again when the
///   clock goes back, and an open one stays open until the clock shows its end for the first time.
public struct SendWindow: Equatable, Sendable {
    private static let dayMinutes: Int64 = 1_440
    private static let daySeconds: Int64 = 86_400
    /// Days that are searched for the next opening or closing.
    private static let searchedDays: Int64 = 16
    static let maximumZoneLength = 64

    /// Minutes after midnight, 0 to 1439; never equal.
    let opensAt: Int64
    let closesAt: Int64
    /// Name in the time zone database. It is a relative path without dots.
    public let zone: String

    /// - Parameter value: the field's value. Whether the zone exists is not checked.
    /// - Throws: for the first rule that the value breaks.
    public init(_ value: [UInt8]) throws(EntryFault) {
        // "09:00-21:00 Z"
        guard value.count >= 13, value[5] == UInt8(ascii: "-"), value[11] == UInt8(ascii: " ") else {
            throw Self.malformed(value)
        }
        let opensAt = try Self.minutes(value[0..<5], of: value)
        let closesAt = try Self.minutes(value[6..<11], of: value)
        try require(opensAt < Self.dayMinutes, "send_window", "24:00 is not an opening time; write 00:00")
        try require(opensAt != closesAt % Self.dayMinutes, "send_window", "the two times are equal")
        (self.opensAt, self.closesAt) = (opensAt, closesAt % Self.dayMinutes)
        zone = try Self.zoneName(value[12...])
    }

    private static func malformed(_ value: [UInt8]) -> EntryFault {
        EntryFault("send_window", "\(Excerpt.quoted(value)) is not a window such as 09:00-21:00 Europe/Madrid")
    }

    /// Minutes after midnight, 0 to 1440.
    private static func minutes(_ text: ArraySlice<UInt8>, of value: [UInt8]) throws(EntryFault) -> Int64 {
        let start = text.startIndex
        guard text[start + 2] == UInt8(ascii: ":"), let hours = DecimalText.parse(text[start..<start + 2]),
            let minutes = DecimalText.parse(text[(start + 3)...])
        else { throw malformed(value) }
        let isTime = minutes < 60 && hours * 60 + minutes <= dayMinutes
        let excerpt = String(decoding: text, as: UTF8.self)
        try require(isTime, "send_window", "\(excerpt) is not 00:00 to 24:00")
        return hours * 60 + minutes
    }

    /// Parts of letters, digits, `_`, `+` and `-`, separated by single slashes.
    public static func zoneName(_ name: ArraySlice<UInt8>) throws(EntryFault) -> String {
        try require(
            name.count <= maximumZoneLength,
            "send_window",
            "zone of \(name.count) bytes, at most \(maximumZoneLength)"
        )
        let parts = name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { $0.isASCIIAlphanumeric || "_+-".utf8.contains($0) }
        }
        try require(isName, "send_window", "\(Excerpt.quoted(name)) is not a time zone such as Europe/Madrid")
        return String(decoding: name, as: UTF8.self)
    }

    /// The canonical text, such as `09:00-00:00 Europe/Madrid` for an end at 24:00. It parses to the same window.
    public var text: String { "\(Self.clock(opensAt))-\(Self.clock(closesAt)) \(zone)" }

    private static func clock(_ minutes: Int64) -> String {
        "\(minutes / 600)\(minutes / 60 % 10):\(minutes % 60 / 10)\(minutes % 10)"
    }

    /// Text for the job hash while the window is closed, such as `send_window: opens at 2026-11-25T08:00:00.000Z`.
    ///
    /// - Parameter opening: Unix milliseconds, from ``nextOpening(after:in:)``.
    public static func reason(opening: Int64) -> String {
        "send_window: opens at \(CalendarTime(unixMs: clamped(opening)).rfc3339)"
    }
}

extension SendWindow {
    /// The span in which the window is open that begins on one day. Unix milliseconds; empty when the clock skips it.
    private struct Opening {
        let start: Int64
        let end: Int64
    }

    /// True while sends may begin.
    ///
    /// - Parameters:
    ///   - unixMs: Unix milliseconds. Times outside the years 1970 to 9999 count as the nearest in them.
    ///   - rules: of the window's zone.
    public func isOpen(at unixMs: Int64, in rules: ZoneRules) -> Bool {
        let time = Self.clamped(unixMs)
        let today = day(of: time, in: rules)
        // Before it was set back, the clock may have been up to 51 hours ahead.
        return (today - 2...today + 3).contains { day in
            let opening = opening(on: day, in: rules)
            return opening.start <= time && time < opening.end
        }
    }

    /// The next moment after this one at which the closed window opens, in Unix milliseconds.
    ///
    /// If a zone's rules keep the window from opening for 16 days, the result is a moment in the future at which the
    /// caller has to ask again.
    public func nextOpening(after unixMs: Int64, in rules: ZoneRules) -> Int64 {
        next(after: unixMs, in: rules) { before, opening in before.end == opening.start ? nil : opening.start }
    }

    /// The next moment after this one at which the window closes, in Unix milliseconds; see
    /// ``nextOpening(after:in:)``.
    public func nextClosing(after unixMs: Int64, in rules: ZoneRules) -> Int64 {
        next(after: unixMs, in: rules) { before, opening in before.end == opening.start ? nil : before.end }
    }

    /// The first moment after `unixMs` that `moment` names of two openings that follow each other. Where a clock change
    /// joins two openings it names none.
    private func next(after unixMs: Int64, in rules: ZoneRules, moment: (Opening, Opening) -> Int64?) -> Int64 {
        let time = Self.clamped(unixMs)
        let today = day(of: time, in: rules)
        var before: Opening?
        for day in (today - 3)...(today + Self.searchedDays) {
            let opening = opening(on: day, in: rules)
            guard opening.start < opening.end else { continue }
            if let before, let found = moment(before, opening), found > time { return found }
            before = opening
        }
        return time + Self.searchedDays * Self.daySeconds * 1_000
    }

    private func opening(on day: Int64, in rules: ZoneRules) -> Opening {
        let midnight = day * Self.daySeconds
        let end = closesAt > opensAt ? closesAt : closesAt + Self.dayMinutes
        return Opening(
            start: rules.firstMoment(ofLocal: midnight + opensAt * 60) * 1_000,
            end: rules.firstMoment(ofLocal: midnight + end * 60) * 1_000
        )
    }

    /// Days since 1970-01-01 on a clock of the zone; 0 for the last hours before it, too.
    private func day(of unixMs: Int64, in rules: ZoneRules) -> Int64 {
        (unixMs / 1_000 + Int64(rules.offsetSeconds(at: unixMs / 1_000))) / Self.daySeconds
    }

    private static func clamped(_ unixMs: Int64) -> Int64 { min(max(0, unixMs), GeneralFields.latestTime) }
}
