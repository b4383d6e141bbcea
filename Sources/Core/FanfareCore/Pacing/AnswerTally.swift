public import FanfareModel

/// Counts FCM's answers until Redis has confirmed their report. A report whose reply was lost is repeated: lost answers
/// might hide an overload, answers counted twice do no harm. Times are nanoseconds of a clock that only grows.
public struct AnswerTally: Sendable {
    private var answers = 0
    private var refused = 0
    private var failing = 0
    /// The latest end of a Retry-After among the refused answers.
    private var refusedUntil: UInt64 = 0
    private var firstAt: UInt64 = 0
    /// The part of the counts that the claim in flight reports.
    private var reported = (answers: 0, refused: 0, failing: 0)
    private var firstAfterReport: UInt64 = 0

    public init() {}

    /// Counts an answer.
    ///
    /// - Parameters:
    ///   - refusedForMs: the Retry-After of a 5xx, in milliseconds; nil for any other answer.
    ///   - isFailing: whether it accepted no recipient because FCM had too much to do or failed.
    public mutating func add(refusedForMs: Int64?, isFailing: Bool = false, now: UInt64) {
        if answers == 0 { firstAt = now }
        if answers == reported.answers { firstAfterReport = now }
        answers = answers.adding(1)
        if isFailing { failing = failing.adding(1) }
        guard let refusedForMs else { return }
        refused = refused.adding(1)
        refusedUntil = max(refusedUntil, now.adding(UInt64(max(0, min(refusedForMs, 86_400_000))) * 1_000_000))
    }

    /// The report for the next claim.
    public mutating func report(now: UInt64) -> AnswerReport {
        reported = (answers, refused, failing)
        return AnswerReport(
            answers: answers,
            refused: refused,
            failing: failing,
            retryAfterMs: refused > 0 ? Int64(refusedUntil.subtracting(now) / 1_000_000) : 0,
            spanMs: answers > 0 ? Int64(now.subtracting(firstAt).adding(999_999) / 1_000_000) : 0
        )
    }

    /// Removes the answers of the last report, which Redis has confirmed.
    public mutating func confirm() {
        answers -= reported.answers
        refused -= reported.refused
        failing -= reported.failing
        reported = (0, 0, 0)
        firstAt = firstAfterReport
        if refused == 0 { refusedUntil = 0 }
    }
}
