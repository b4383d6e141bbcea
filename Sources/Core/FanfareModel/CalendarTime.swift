/// A moment in the Gregorian calendar, UTC.
public struct CalendarTime: Equatable, Sendable {
    public let year: Int64
    /// 1 to 12.
    public let month: Int64
    public let day: Int64
    public let hour: Int64
    public let minute: Int64
    public let second: Int64
    public let millisecond: Int64
    /// 0 is Monday.
    public let weekday: Int64

    /// - Parameter unixMs: Unix milliseconds, before 1970 too.
    public init(unixMs: Int64) {
        let days = Self.floor(unixMs, 86_400_000)
        let rest = unixMs - days * 86_400_000
        (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60)
        (second, millisecond) = (rest / 1_000 % 60, rest % 1_000)
        // 1970-01-01 was a Thursday.
        weekday = days + 3 - Self.floor(days + 3, 7) * 7
        // The reverse of daysSinceEpoch: years counted from March, 400 of them are 146,097 days.
        let shifted = days + 719_468
        let era = Self.floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `2026-11-21`
    public var date: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// `2026-11-21T09:05:07.123Z`
    public var rfc3339: String { "\(date)T\(clock).\(Self.padded(millisecond, 3))Z" }

    /// `09:05:07`
    var clock: String { "\(Self.padded(hour, 2)):\(Self.padded(minute, 2)):\(Self.padded(second, 2))" }

    static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// - Parameter month: 1 to 12.
    public static func days(inMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Days since 1970-01-01.
    ///
    /// Years are counted from March, so that the leap day is a year's last and one formula gives the months' lengths.
    public static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = floor(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}
