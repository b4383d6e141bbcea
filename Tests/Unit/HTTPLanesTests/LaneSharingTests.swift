import Testing

@testable import HTTPLanes

@Suite struct LaneSharingTests {
    /// Lanes 1, 2, 3 and so on, each opened 10 ms after the one before it.
    private func giver(for pool: Int, _ lanes: [(pool: Int, isIdle: Bool)], nowMs: Int64 = 500) -> Int? {
        let candidates = lanes.enumerated().map { index, lane in
            let openedAtMs = Int64(index) * 10
            return LaneSharing.Candidate(pool: lane.pool, lane: index + 1, isIdle: lane.isIdle, openedAtMs: openedAtMs)
        }
        return LaneSharing.giver(for: pool, lanes: candidates, nowMs: nowMs)
    }

    @Test func poolWithoutALaneGetsTheOldestIdleOne() {
        #expect(giver(for: 9, [(1, false), (2, true), (3, true)]) == 2)
    }

    @Test func poolWithLanesTakesIdleOnesOnlyFromPoolsWithMore() {
        #expect(giver(for: 1, [(1, false), (2, true)]) == nil)
        #expect(giver(for: 1, [(1, false), (2, true), (2, false)]) == 2)
    }

    @Test func poolWithoutALaneGetsABusyOneOfThePoolWithMost() {
        #expect(giver(for: 9, [(1, false), (2, false), (2, false), (3, false)]) == 2)
        #expect(giver(for: 3, [(1, false), (2, false), (2, false), (3, false)]) == nil)
    }

    @Test func onlyLanesChangeHandsOnceTheirTurnIsOver() {
        let lanes = [(pool: 1, isIdle: false), (pool: 2, isIdle: false)]
        #expect(giver(for: 9, lanes, nowMs: LaneSharing.turnMs - 1) == nil)
        #expect(giver(for: 9, lanes, nowMs: LaneSharing.turnMs) == 1)
    }

    @Test func noLaneIsFoundWhereThereIsNone() {
        #expect(giver(for: 1, []) == nil)
        #expect(giver(for: 1, [(1, true)]) == nil)
    }
}
