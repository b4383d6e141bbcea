import FanfareCore
import Testing

@Suite struct ReclaimPlanTests {
    private static let open = demand()

    private static func demand(
        room: Int = 100,
        leftovers: ReadPlan.Leftovers = .none,
        isConnected: Bool = true,
        isDraining: Bool = false
    ) -> ReclaimPlan.Demand {
        ReclaimPlan.Demand(
            read: ReadPlan.Demand(room: room, leftovers: leftovers),
            isConnected: isConnected,
            isDraining: isDraining
        )
    }

    private func actions(_ plan: inout ReclaimPlan, _ event: ReclaimPlan.Event) -> [ReclaimPlan.Action] {
        var actions: [ReclaimPlan.Action] = []
        plan.handle(event, into: &actions)
        return actions
    }

    @Test(arguments: [(100, 64), (10, 10)]) func claimsAsManyAsThereIsRoomFor(room: Int, count: Int) {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .due(Self.demand(room: room))) == [.claim(cursor: "0-0", count: count)])
    }

    @Test(arguments: [
        demand(room: 0), demand(leftovers: .later), demand(leftovers: .readable), demand(isConnected: false),
        demand(isDraining: true),
    ])
    func claimsNothingWithoutRoomOrConnection(_ demand: ReclaimPlan.Demand) {
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
        #expect(actions(&plan, .answered(cursor: cursor, count: count, isDraining: false)) == expected)
        #expect(plan.isWaiting == expected.contains(.wait(ms: 20)))
        #expect(actions(&plan, .due(Self.open)) == [.claim(cursor: cursor, count: 64)])
    }

    @Test func waitsOnceAtATimeAndNotWhileDraining() {
        var plan = ReclaimPlan()
        #expect(actions(&plan, .answered(cursor: "5-1", count: 0, isDraining: true)).isEmpty)
        #expect(actions(&plan, .answered(cursor: "5-1", count: 0, isDraining: false)) == [.wait(ms: 20)])
        #expect(actions(&plan, .answered(cursor: "6-1", count: 0, isDraining: false)).isEmpty)
    }

    @Test(
        arguments: [
            (demand(), [.claim(cursor: "5-1", count: 64)]), (demand(room: 0), [.wait(ms: 20)]),
            (demand(leftovers: .due), [.wait(ms: 20)]), (demand(isConnected: false), []),
            (demand(room: 0, isDraining: true), []),
        ] as [(ReclaimPlan.Demand, [ReclaimPlan.Action])]
    )
    func continuesAfterTheWaitWhenThereIsRoom(_ demand: ReclaimPlan.Demand, expected: [ReclaimPlan.Action]) {
        var plan = ReclaimPlan()
        _ = actions(&plan, .answered(cursor: "5-1", count: 0, isDraining: false))
        #expect(actions(&plan, .waited(demand)) == expected)
        #expect(plan.isWaiting == expected.contains(.wait(ms: 20)))
    }
}
