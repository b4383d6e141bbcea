internal import FanfareModel

/// A point in time as an argument: `2026-03-01T08:00:00Z`, Unix milliseconds, or `+5m`.
enum TimeArgument: Equatable {
    case at(milliseconds: Int64)
    case after(milliseconds: Int64)

    /// nil if the text has none of the forms.
    init?(_ text: String) {
        if text.hasPrefix("+") {
            guard let delay = Self.delay(text.dropFirst()) else { return nil }
            self = .after(milliseconds: delay)
        } else if let number = DecimalText.parse(text.utf8) {
            guard Job.times.contains(number) else { return nil }
            self = .at(milliseconds: number)
        } else {
            guard let time = Timestamp.milliseconds(rfc3339: text), Job.times.contains(time) else { return nil }
            self = .at(milliseconds: time)
        }
    }

    static let forms =
        "a time with its zone (2026-03-01T08:00:00Z), Unix milliseconds, or a delay such as +90s, +5m, +2h, +1d"

    /// - Parameter nowMs: the time of Redis' clock, which workers use.
    func milliseconds(nowMs: Int64) -> Int64 {
        switch self {
        case .at(let milliseconds): return milliseconds
        case .after(let milliseconds): return nowMs + milliseconds
        }
    }

    private static func delay(_ text: Substring) -> Int64? {
        let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let last = text.last, let unit = units[last], let number = DecimalText.parse(text.utf8.dropLast()),
            number <= 36_500 * 86_400_000 / unit
        else { return nil }
        return number * unit
    }
}
