internal import FanfareModel

/// The rule of a POSIX `TZ` text such as `CET-1CEST,M3.5.0,M10.5.0/3`, which a TZif file has as its footer.
///
/// Times of changes may be -167 to 167 hours, as RFC 8536 extends them. Names of zones are read and not kept.
struct PosixRule: Equatable, Sendable {
    /// The day of a year on which a change falls.
    enum Day: Equatable, Sendable {
        /// `J`: 1 to 365; February 29 is not counted.
        case julian(Int64)
        /// 0 to 365; February 29 is counted. Day 365 of a common year is January 1 of the next.
        case dayOfYear(Int64)
        /// `M`: a weekday, 0 for Sunday, of week 1 to 5 of a month; week 5 is the last.
        case weekday(month: Int64, week: Int64, day: Int64)
    }

    /// A change between the two offsets.
    struct Change: Equatable, Sendable {
        let day: Day
        /// Seconds after midnight, by the clock before the change.
        let time: Int64
    }

    /// Daylight saving time, which some zones have in winter, with an offset below the standard one.
    struct Daylight: Equatable, Sendable {
        /// Seconds east of UTC.
        let offset: Int64
        let start: Change
        let end: Change
    }

    /// Standard time, in seconds east of UTC.
    let offset: Int64
    /// Nil when the zone has one offset all year.
    let daylight: Daylight?

    /// The span of one offset around a time, in Unix seconds.
    func span(at seconds: Int64) -> ZoneRules.Span {
        guard let daylight else { return ZoneRules.Span(offset: offset, end: nil) }
        let year = CalendarTime(unixMs: seconds * 1_000).year
        var isDaylight = false
        var end: Int64?
        // Times of a week and more reach into the neighbouring years, and daylight saving time may last into the next.
        for year in (year - 2)...(year + 2) {
            let first = moment(of: daylight.start, year: year, offset: offset)
            var last = moment(of: daylight.end, year: year, offset: daylight.offset)
            // South of the equator it ends in the next year.
            if last <= first { last = moment(of: daylight.end, year: year + 1, offset: daylight.offset) }
            if first <= seconds, seconds < last { isDaylight = true }
            for moment in [first, last] where moment > seconds { end = min(end ?? moment, moment) }
        }
        return ZoneRules.Span(offset: isDaylight ? daylight.offset : offset, end: end)
    }

    /// - Parameter offset: seconds east of UTC before the change.
    private func moment(of change: Change, year: Int64, offset: Int64) -> Int64 {
        Self.days(of: change.day, year: year) * 86_400 + change.time - offset
    }

    /// Days from 1970-01-01 to a rule's day.
    static func days(of day: Day, year: Int64) -> Int64 {
        switch day {
        case .julian(let number):
            let isAfterLeapDay = CalendarTime.days(inMonth: 2, year: year) == 29 && number >= 60
            return CalendarTime.daysSinceEpoch(year: year, month: 1, day: 1) + number - (isAfterLeapDay ? 0 : 1)
        case .dayOfYear(let number): return CalendarTime.daysSinceEpoch(year: year, month: 1, day: 1) + number
        case .weekday(let month, let week, let weekday):
            let first = CalendarTime.daysSinceEpoch(year: year, month: month, day: 1)
            // 1970-01-01 was a Thursday; the remainder is negative before it.
            let firstWeekday = ((first + 4) % 7 + 7) % 7
            var day = (weekday - firstWeekday + 7) % 7 + 7 * (week - 1)
            if day >= CalendarTime.days(inMonth: month, year: year) { day -= 7 }
            return first + day
        }
    }
}
