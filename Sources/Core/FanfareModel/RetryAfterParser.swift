/// Reads a `Retry-After` header. Only two spellings count: a whole number of seconds, and an IMF-fixdate.
///
/// Anything else (zero, negative, fractional, an ISO date, two joined headers, words, an overflow, a past date) counts as no
/// header, so that the default backoff applies.
public enum RetryAfterParser {
    /// Six hours. A longer wait says the same as this one: past the end of trying.
    public static let maximumMs: Int64 = 6 * 60 * 60 * 1_000

    /// How long to wait, in milliseconds, 1 to ``maximumMs``; nil when the value does not count.
    ///
    /// - Parameters:
    ///   - value: the header's value; blanks around it are ignored.
    ///   - date: the same answer's `Date` header, from which a date is measured if it can be read, else from `nowMs`.
    ///   - nowMs: Unix milliseconds.
    public static func milliseconds(_ value: String, date: String?, nowMs: Int64) -> Int64? {
        let bytes = Array(value.utf8)[...].trimmingBlanks
        if let seconds = DecimalText.parse(bytes) { return seconds > 0 ? min(seconds, maximumMs / 1_000) * 1_000 : nil }
        guard let then = HTTPDate.milliseconds(bytes) else { return nil }
        let reference = date.flatMap { HTTPDate.milliseconds(Array($0.utf8)[...].trimmingBlanks) } ?? nowMs
        let (wait, overflow) = then.subtractingReportingOverflow(reference)
        guard !overflow, wait > 0 else { return nil }
        return min(wait, maximumMs)
    }
}
