import FanfareCore
import FanfareModel
import StreamWire
import Testing

@Suite struct HistoryPlanTests {
    private var counts = HistoryCounts()

    /// The number and counts of the plan's next record, before which so many recipients were sent and failed.
    private mutating func next(
        _ plan: inout HistoryPlan,
        sent: Int = 0,
        failed: Int = 0,
        isWaiting: Bool = false
    ) -> String? {
        for _ in 0..<sent { counts.finished(.sent, nil, maybeDup: false) }
        for _ in 0..<failed { counts.finished(.failed, nil, maybeDup: false) }
        guard let (number, record) = plan.next(&counts, isWaiting: isWaiting) else { return nil }
        let words = record.counts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return (["\(number)"] + words).joined(separator: " ")
    }

    @Test mutating func recordsHoldWhatCameSinceTheLast() {
        var plan = HistoryPlan()
        let first = next(&plan, sent: 5)
        let unanswered = next(&plan, sent: 4, isWaiting: true)
        plan.answered(isConfirmed: true)
        let second = next(&plan, failed: 2)
        #expect(first == "1 sent=5" && unanswered == nil && second == "2 failed=2 sent=4")
    }

    @Test mutating func unconfirmedRecordIsRepeatedAsItWas() {
        var plan = HistoryPlan()
        let first = next(&plan, sent: 5)
        plan.answered(isConfirmed: false)
        let again = next(&plan, sent: 3)
        plan.answered(isConfirmed: true)
        let third = next(&plan)
        #expect(first == "1 sent=5" && again == first && third == "2 sent=3")
    }

    @Test mutating func idleProjectWritesNothingAfterItsStart() {
        var plan = HistoryPlan()
        let start = next(&plan)
        plan.answered(isConfirmed: true)
        let idle = next(&plan)
        let waiting = next(&plan, isWaiting: true)
        #expect(start == "1" && idle == nil && waiting == "2")
    }
}
