internal import Glibc

/// Formats moments in the local time of this machine.
enum ClockText {
    /// Such as `12:30:05`.
    static func time(_ milliseconds: Int64) -> String { format(milliseconds, "%H:%M:%S") }

    /// Such as `2026-11-23 12:30:05 CET`.
    static func date(_ milliseconds: Int64) -> String { format(milliseconds, "%Y-%m-%d %H:%M:%S %Z") }

    /// The time alone if it is at most 12 hours from now, else with its date.
    static func moment(_ milliseconds: Int64, nowMs: Int64) -> String {
        let isNear = abs(milliseconds - nowMs) <= 12 * 3_600_000
        return isNear ? time(milliseconds) : format(milliseconds, "%Y-%m-%d %H:%M")
    }

    /// Such as `2026-11-23 12:30:05 CET (in 2 h 5 min)` or `… (12 s ago)`.
    static func relative(_ milliseconds: Int64, nowMs: Int64) -> String {
        let seconds = Double(milliseconds - nowMs) / 1_000
        let distance = PaceText.duration(abs(seconds).rounded())
        return "\(date(milliseconds)) (\(seconds > 0 ? "in \(distance)" : "\(distance) ago"))"
    }

    private static func format(_ milliseconds: Int64, _ pattern: String) -> String {
        var moment = time_t(milliseconds / 1_000)
        var parts = tm()
        guard localtime_r(&moment, &parts) != nil else { return "-" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let start = text.baseAddress, strftime(start, text.count, pattern, &parts) > 0 else { return "-" }
            return String(cString: start)
        }
    }
}
