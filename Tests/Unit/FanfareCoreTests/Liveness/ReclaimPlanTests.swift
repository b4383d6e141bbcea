import Testing

@testable import FanfareCore

@Suite struct ReclaimPlanTests {
    private func actions(_ plan: inout ReclaimPlan, _ event: ReclaimPlan.Event) -> [ReclaimPlan.Action] {
        var actions: [ReclaimPlan.Action] = []
        plan.handle(event, into: &actions)
        return actions
    }

    @Test(arguments: [(100, 64), (10, 10)]) func claimsAsManyAsThereIsRoomFor(room: Int, count: Int) {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .due(ReadPlan.Demand(room: room))) == [.claim(cursor: "0-0", count: count)])
    }

    @Test(arguments: [
        ReadPlan.Demand(room: 0), ReadPlan.Demand(room: 9, leftovers: .later),
        ReadPlan.Demand(room: 9, leftovers: .due), ReadPlan.Demand(room: 9, leftovers: .readable),
    ])
    func claimsNothingWithoutRoomOrBeforeLeftoversAreRead(_ demand: ReadPlan.Demand) {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .due(demand)).isEmpty && !plan.isWaiting)
    }

    @Test(
        arguments: [
            ("0-0", 0, []), ("0-0", 31, [.leftoversFound]), ("0-0", 32, [.leftoversFound, .wait(ms: 20)]),
            ("5-1", 0, [.wait(ms: 20)]), ("5-1", 3, [.leftoversFound, .wait(ms: 20)]),
        ] as [(String, Int, [ReclaimPlan.Action])]
    )
    func asksAgainSoonWhileThereIsMore(cursor: String, count: Int, expected: [ReclaimPlan.Action]) {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .answered(cursor: cursor, count: count)) == expected)
        #expect(plan.isWaiting == expected.contains(.wait(ms: 20)))
        #expect(actions(&plan, .due(ReadPlan.Demand(room: 100))) == [.claim(cursor: cursor, count: 64)])
    }

    @Test func waitsOnceAtATime() {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .answered(cursor: "5-1", count: 0)) == [.wait(ms: 20)])
        #expect(actions(&plan, .answered(cursor: "6-1", count: 0)).isEmpty)
    }

    @Test(
        arguments: [
            (ReadPlan.Demand(room: 100), [.claim(cursor: "5-1", count: 64)]),
            (ReadPlan.Demand(room: 0), [.wait(ms: 20)]),
            (ReadPlan.Demand(room: 9, leftovers: .due), [.wait(ms: 20)]),
        ] as [(ReadPlan.Demand, [ReclaimPlan.Action])]
    )
    func continuesAfterTheWaitWhenThereIsRoom(_ demand: ReadPlan.Demand, expected: [ReclaimPlan.Action]) {
        var plan = ReclaimPlan()
        _ = actions(&plan, .answered(cursor: "5-1", count: 0))
        #expect(actions(&plan, .waited(demand)) == expected)
        #expect(plan.isWaiting == expected.contains(.wait(ms: 20)))
    }
}
