internal import FanfareModel
internal import StreamWire

/// The parts of `claim` besides work: reports of FCM's answers, permits and news.
extension ProjectState {
    mutating func applyAnswers(_ report: AnswerReport?, _ nowMs: Int64, referee: Referee) {
        let before = governor.holdUntilMs
        governor.apply(report, nowMs: nowMs)
        if let report, report.refused > 0, referee.breaks(.holdOnOneRefusal) {
            governor.hold(milliseconds: report.retryAfterMs, nowMs: nowMs)
        }
        if referee.breaks(.climbUnanswered), !governor.isRecovering { governor.apply(nil, nowMs: nowMs) }
        if let report, report.answers > 0 { referee.reported() }
        if governor.holdUntilMs > max(before, nowMs) {
            referee.held(milliseconds: governor.holdUntilMs - nowMs)
            referee.heldOnEvidence()
        }
    }

    mutating func lend(_ request: ClaimCall, isStopped: Bool, _ nowMs: Int64, referee: Referee) -> Int {
        let lent = governor.lend(
            returned: request.returned,
            single: isStopped ? 0 : request.permitsSingle,
            fanout: isStopped ? 0 : request.permitsFanout,
            nowMs: nowMs
        )
        referee.paces(governor.level ?? 0)
        return referee.breaks(.lendTooMuch) ? lent + (lent + 2) / 3 : lent
    }

    func newsAfter(_ cursor: NewsID, referee: Referee) -> [News] {
        // A cursor beyond the last id is from before a rollback; news since the rollback have lower ids.
        let from = cursor > lastNews && !referee.breaks(.keepNewsCursor) ? NewsID() : cursor
        guard let last = news.last, last.id > from else { return [] }
        return Array(news.drop { $0.id <= from })
    }
}
