import FanfareCore
import StreamWire
import Testing

@Suite struct HistoryPlanTests {
    /// The number and counts of the plan's next record.
    private func next(_ plan: inout HistoryPlan, _ totals: [String: Int64], isWaiting: Bool = false) -> String? {
        guard let (number, record) = plan.next(totals: totals, isWaiting: isWaiting) else { return nil }
        let counts = record.counts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return (["\(number)"] + counts).joined(separator: " ")
    }

    @Test func recordsHoldWhatCameSinceTheLast() {
        var plan = HistoryPlan()
        let first = next(&plan, ["sent": 5, "failed": 0])
        let unanswered = next(&plan, ["sent": 9], isWaiting: true)
        plan.answered(isConfirmed: true)
        let second = next(&plan, ["sent": 9, "failed": 2])
        #expect(first == "1 sent=5" && unanswered == nil && second == "2 failed=2 sent=4")
    }

    @Test func unconfirmedRecordIsRepeatedAsItWas() {
        var plan = HistoryPlan()
        let first = next(&plan, ["sent": 5])
        plan.answered(isConfirmed: false)
        let again = next(&plan, ["sent": 8])
        plan.answered(isConfirmed: true)
        let third = next(&plan, ["sent": 8])
        #expect(first == "1 sent=5" && again == first && third == "2 sent=3")
    }

    @Test func idleProjectWritesNothingAfterItsStart() {
        var plan = HistoryPlan()
        let start = next(&plan, ["sent": 0])
        plan.answered(isConfirmed: true)
        let idle = next(&plan, ["sent": 0])
        let waiting = next(&plan, ["sent": 0], isWaiting: true)
        #expect(start == "1" && idle == nil && waiting == "2")
    }

    @Test func counterThatWasResetCountsNothingTwice() {
        var plan = HistoryPlan()
        _ = next(&plan, ["sent": 5])
        plan.answered(isConfirmed: true)
        let reset = next(&plan, ["sent": 0], isWaiting: true)
        plan.answered(isConfirmed: true)
        let after = next(&plan, ["sent": 2])
        #expect(reset == "2" && after == "3 sent=2")
    }
}
