/// A moment in the calendar, UTC.
struct CivilTime: Equatable, Sendable {
    private let ms: Int64
    private let year: Int64
    private let month: Int64
    private let day: Int64

    /// - Parameter ms: Unix milliseconds.
    init(_ ms: Int64) {
        self.ms = ms
        // Days counted from 1 March of year 0, in eras of 400 years.
        let days = Self.floor(ms, 86_400_000) + 719_468
        let era = Self.floor(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `2026-11-21`
    var date: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// `2026-11-21T09:05:07.123Z`
    var rfc3339: String {
        let left = ms - Self.floor(ms, 86_400_000) * 86_400_000
        let hours = Self.padded(left / 3_600_000, 2)
        let minutes = Self.padded(left / 60_000 % 60, 2)
        let seconds = Self.padded(left / 1_000 % 60, 2)
        return "\(date)T\(hours):\(minutes):\(seconds).\(Self.padded(left % 1_000, 3))Z"
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
