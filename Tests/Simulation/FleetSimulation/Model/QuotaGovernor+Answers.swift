internal import FanfareModel

/// Sum of the answers reported within 50 ms of each other.
struct CountedAnswers: Equatable, Sendable {
    var atMs: Int64
    var answers: Int
    var refused: Int
    /// The latest end of a Retry-After among the refused answers.
    var untilMs: Int64
}

/// The share rule: how FCM's answers change the pace. A refusal is a 5xx with Retry-After. Refusals hold the project if
/// they are at least five, and at least a tenth of the counted answers. The rule counts the last 200 answers, or all of
/// the last second if they are more; none older than 60 s. After a hold the project recovers until 20 answers have
/// arrived. If fewer than a tenth of them are refusals, it continues at half its earlier pace.
extension QuotaGovernor {
    static let answersWithinMs: Int64 = 2_000
    static let refusalCountsMs: Int64 = 60_000
    private static let countedAnswers = 200
    private static let maximumReports = 200

    /// Applies a worker's report of answers to the pace.
    ///
    /// - Parameter report: nil from a worker that does not count answers.
    mutating func apply(_ report: AnswerReport?, nowMs: Int64) {
        guard let report else {
            answeredAtMs = nowMs
            goodAtMs = nowMs
            guard isRecovering, holdUntilMs <= nowMs else { return }
            isRecovering = false
            level = 0
            return
        }
        guard report.answers > 0 else { return }
        answeredAtMs = nowMs
        if report.answers > max(report.refused, report.failing) { goodAtMs = nowMs }
        let isHeld = holdUntilMs > nowMs
        guard isHeld || nowMs - report.spanMs >= holdUntilMs else { return }
        var since = isHeld ? 0 : holdUntilMs
        add(report, since: since, nowMs)
        let isClean = refusedAtMs == 0 || nowMs >= refusedAtMs + Self.refusalCountsMs
        if report.refused > 0 { refusedAtMs = nowMs }
        if report.refused == 0, isClean, !isRecovering { return }
        if isHeld || !isRecovering { since = max(since, nowMs - Self.refusalCountsMs) }
        let counted = count(since: since, nowMs)
        let isBad = 10 * counted.refused >= counted.answers
        let isJudged = isRecovering && !isHeld && counted.answers >= 20
        share = min(0.1, Double(counted.refused) / Double(max(1, counted.answers)))
        if isBad, isJudged || (report.refused > 0 && counted.refused >= 5) {
            hold(untilMs: max(nowMs, counted.untilMs))
        } else if isJudged {
            isRecovering = false
            level = (level ?? 0) / 2
        }
    }

    private mutating func add(_ report: AnswerReport, since: Int64, _ nowMs: Int64) {
        let untilMs = report.refused > 0 ? nowMs + max(0, report.retryAfterMs) : 0
        if let newest = reports.first, newest.atMs > since, newest.atMs <= nowMs, nowMs < newest.atMs + 50 {
            reports[0].answers += report.answers
            reports[0].refused += report.refused
            reports[0].untilMs = max(newest.untilMs, untilMs)
            return
        }
        let new = CountedAnswers(
            atMs: nowMs,
            answers: report.answers,
            refused: report.refused,
            untilMs: untilMs
        )
        reports.insert(new, at: 0)
        if reports.count > Self.maximumReports { reports.removeLast() }
    }

    private func count(since: Int64, _ nowMs: Int64) -> CountedAnswers {
        var sum = CountedAnswers(atMs: since, answers: 0, refused: 0, untilMs: 0)
        for report in reports {
            guard report.atMs > since, sum.answers < Self.countedAnswers || report.atMs >= nowMs - 1_000 else { break }
            sum.answers += report.answers
            sum.refused += report.refused
            sum.untilMs = max(sum.untilMs, report.untilMs)
        }
        return sum
    }
}
