import Testing

@testable import FanfareCore

@Suite struct DrainPlanTests {
    private static let second: UInt64 = 1_000_000_000

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let afterDeadline: DrainPlan.Step
        let change: @Sendable (inout DrainPlan.Pending) -> Void

        var testDescription: String { name }
    }

    @Test(arguments: [
        Row(name: "a request in flight", afterDeadline: .close(isLate: true)) { $0.requests = 1 },
        Row(name: "a claim", afterDeadline: .close(isLate: true)) { $0.isClaiming = true },
        Row(name: "hand-overs that Redis does not confirm", afterDeadline: .close(isLate: true)) {
            $0.isHandingOver = true
        },
        Row(name: "results", afterDeadline: .warn) { $0.hasUnwrittenResults = true },
        Row(name: "results and a request", afterDeadline: .warn) { ($0.requests, $0.hasUnwrittenResults) = (1, true) },
    ])
    func onlyResultsKeepAProjectOpenAfterTheDeadline(row: Row) {
        var pending = DrainPlan.Pending()
        row.change(&pending)
        var plan = DrainPlan(deadline: 10 * Self.second)
        #expect(!pending.names.isEmpty && DrainPlan.Pending().names.isEmpty)
        #expect(plan.next(pending, now: 0) == .wait)
        #expect(plan.next(pending, now: 10 * Self.second - 1) == .wait)
        #expect(plan.next(pending, now: 10 * Self.second) == row.afterDeadline)
    }

    @Test(arguments: [0, 10, 100] as [UInt64]) func drainedProjectIsClosedAtOnce(at time: UInt64) {
        var plan = DrainPlan(deadline: 10 * Self.second)
        #expect(plan.next(DrainPlan.Pending(), now: time * Self.second) == .close(isLate: false))
    }

    @Test func warningComesAtTheDeadlineAndThenOnceAMinute() {
        var pending = DrainPlan.Pending()
        pending.hasUnwrittenResults = true
        var plan = DrainPlan(deadline: 10 * Self.second)
        var warnings: [UInt64] = []
        for second in 0..<140 as Range<UInt64> where plan.next(pending, now: second * Self.second) == .warn {
            warnings.append(second)
        }
        #expect(warnings == [10, 70, 130])
        #expect(plan.next(DrainPlan.Pending(), now: 140 * Self.second) == .close(isLate: false))
    }
}
