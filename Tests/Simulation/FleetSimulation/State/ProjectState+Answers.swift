internal import FanfareModel

/// What workers report of FCM's answers.
extension ProjectState {
    mutating func hear(_ report: AnswerReport?, _ nowMs: Int64, referee: Referee) {
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
}
