public import FanfareModel

/// Counts FCM's answers until Redis has confirmed that it heard of them. A report whose reply was lost is made again:
/// counted twice it does no harm, lost it might.
public struct AnswerTally: Sendable {
    private var answers = 0
    private var refused = 0
    /// Until when the refused ones were told to wait; nanoseconds, as all here.
    private var toldUntil: UInt64 = 0
    private var firstAt: UInt64 = 0
    /// What the claim under way reports.
    private var reported = (answers: 0, refused: 0)
    private var firstAfterReport: UInt64 = 0

    public init() {}

    /// An answer came.
    ///
    /// - Parameter refusedForMs: the Retry-After of a 5xx, in milliseconds; nil for any other answer.
    public mutating func add(refusedForMs: Int64?, now: UInt64) {
        if answers == 0 { firstAt = now }
        if answers == reported.answers { firstAfterReport = now }
        answers = answers.adding(1)
        guard let refusedForMs else { return }
        refused = refused.adding(1)
        toldUntil = max(toldUntil, now.adding(UInt64(max(0, min(refusedForMs, 86_400_000))) * 1_000_000))
    }

    /// What the next claim reports.
    public mutating func report(now: UInt64) -> AnswerReport {
        reported = (answers, refused)
        return AnswerReport(
            answers: answers,
            refused: refused,
            toldMs: refused > 0 ? Int64(toldUntil.subtracting(now) / 1_000_000) : 0,
            spanMs: answers > 0 ? Int64(now.subtracting(firstAt).adding(999_999) / 1_000_000) : 0
        )
    }

    /// Redis has heard of the last report.
    public mutating func confirm() {
        answers -= reported.answers
        refused -= reported.refused
        reported = (0, 0)
        firstAt = firstAfterReport
        if refused == 0 { toldUntil = 0 }
    }
}
