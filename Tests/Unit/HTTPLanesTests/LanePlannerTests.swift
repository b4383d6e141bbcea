import Testing

@testable import HTTPLanes

@Suite struct LanePlannerTests {
    typealias View = LanePlanner.View
    typealias Assignment = LanePlanner.Assignment

    private func ready(_ inFlight: Int, limit: Int = 100) -> View {
        View(room: limit - inFlight, inFlight: inFlight, limit: limit, isOpening: false)
    }
    private let opening = View(room: 0, inFlight: 1, limit: 100, isOpening: true)

    @Test func firstRequestOpensALane() {
        let planner = LanePlanner(maximumLanes: 4, maximumStreams: 100)
        #expect(planner.plan(queued: 1, lanes: [], nowMs: 0) == .init(open: 1))
        #expect(planner.plan(queued: 250, lanes: [], nowMs: 0) == .init(open: 3))
    }

    @Test func lowestLaneFillsFirstInSteps() {
        let planner = LanePlanner(maximumLanes: 2, maximumStreams: 100)
        let lanes = [ready(10), ready(0)]
        #expect(planner.plan(queued: 4, lanes: lanes, nowMs: 0).assignments == [Assignment(lane: 0, count: 4)])
        let more = planner.plan(queued: 30, lanes: lanes, nowMs: 0)
        let expected = [Assignment(lane: 0, count: 6), Assignment(lane: 1, count: 16), Assignment(lane: 0, count: 8)]
        #expect(more == .init(assignments: expected))
        #expect(
            planner.plan(queued: 3, lanes: [ready(60), ready(20)], nowMs: 0).assignments == [
                Assignment(lane: 1, count: 3)
            ]
        )
    }

    @Test func pausedLaneKeepsOthersFromOpening() {
        let planner = LanePlanner(maximumLanes: 4, maximumStreams: 100)
        let paused = View(room: 0, inFlight: 0, limit: 0, isOpening: false)
        #expect(planner.plan(queued: 10, lanes: [paused], nowMs: 0) == .init())
        #expect(planner.plan(queued: 10, lanes: [ready(100)], nowMs: 0) == .init(open: 1))
    }

    @Test func laneOpensOnlyWhenTheOthersAreFull() {
        let planner = LanePlanner(maximumLanes: 3, maximumStreams: 100)
        #expect(planner.plan(queued: 100, lanes: [ready(50), ready(50)], nowMs: 0).open == 0)
        #expect(planner.plan(queued: 101, lanes: [ready(50), ready(50)], nowMs: 0).open == 1)
    }

    @Test func openingLanesCountAsCapacity() {
        let planner = LanePlanner(maximumLanes: 32, maximumStreams: 100)
        #expect(planner.plan(queued: 99, lanes: [opening], nowMs: 0).open == 0)
        #expect(planner.plan(queued: 100, lanes: [opening], nowMs: 0).open == 1)
        let many = [View](repeating: opening, count: 4)
        #expect(planner.plan(queued: 3_000, lanes: many, nowMs: 0).open == 0)
        #expect(planner.plan(queued: 3_000, lanes: [opening], nowMs: 0).open == 3)
    }

    @Test func poolOfAllItsLanesOpensNone() {
        let planner = LanePlanner(maximumLanes: 2, maximumStreams: 100)
        #expect(planner.plan(queued: 900, lanes: [ready(100), ready(100)], nowMs: 0) == .init())
    }

    @Test func failuresDoubleThePauseUntilAnAnswer() {
        var planner = LanePlanner(maximumLanes: 8, maximumStreams: 100)
        for wait in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] as [Int64] {
            planner.closed(answered: 0, refused: 0, nowMs: 1_000)
            #expect(planner.nextOpeningMs == 1_000 + wait)
            #expect(planner.plan(queued: 500, lanes: [], nowMs: 999 + wait).open == 0)
            #expect(planner.unopened(lanes: 0, nowMs: 999 + wait) == 0)
            #expect(planner.plan(queued: 500, lanes: [], nowMs: 1_000 + wait).open == 1)
        }
        planner.raiseLimit(to: 100)
        #expect(planner.plan(queued: 500, lanes: [], nowMs: 9_000).open == 4)
    }

    @Test func newLaneStartsWithTheLearnedLimit() {
        var planner = LanePlanner(maximumLanes: 8, maximumStreams: 100)
        planner.lowerLimit(to: 10)
        #expect(planner.unopened(lanes: 1, nowMs: 0) == 70)
        #expect(planner.plan(queued: 25, lanes: [], nowMs: 0).open == 3)
        planner.raiseLimit(to: 12)
        #expect(planner.learned == 12)
        planner.closed(answered: 3, refused: 9, nowMs: 0)
        #expect(planner.learned == 6)
        planner.lowerLimit(to: 0)
        #expect(planner.learned == 1)
    }
}
