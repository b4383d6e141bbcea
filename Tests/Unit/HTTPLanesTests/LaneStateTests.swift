import Testing

@testable import HTTPLanes

@Suite struct LaneStateTests {
    private func lane(_ limit: Int = 100, timeouts: Int = 3) -> LaneState {
        let window = StreamWindow(maximum: limit, limit: limit)
        return LaneState(window: window, timeoutsToRetire: timeouts, nowMs: 0)
    }

    @Test func newLaneTakesOneRequestUntilItAnswers() {
        var lane = lane()
        #expect(lane.room == 1)
        lane.recordAdded()
        #expect(lane.room == 0)
        lane.recordFirstRead(nowMs: 10)
        lane.advance(nowMs: 259)
        #expect(lane.room == 0)
        lane.ended(.answered(isMultiplexed: true), nowMs: 300)
        #expect(lane.phase == .ready)
        #expect(lane.room == 100)
    }

    @Test func slowFirstAnswerAllowsASecondRequest() {
        var lane = lane()
        lane.recordAdded()
        lane.recordFirstRead(nowMs: 10)
        lane.advance(nowMs: 260)
        #expect(lane.room == 1)
        lane.recordAdded()
        lane.recordMultiplexing(nowMs: 261)
        #expect(lane.phase == .ready)
        #expect(lane.room == 98)
    }

    @Test func multiplexingLaneWaitsForTheServersSettings() {
        var lane = lane()
        lane.recordAdded()
        lane.recordFirstRead(nowMs: 10)
        lane.recordMultiplexing(nowMs: 10)
        #expect(lane.phase == .opening)
        lane.advance(nowMs: 260)
        #expect(lane.phase == .ready)
    }

    @Test func laneWithoutMultiplexingTakesOneAtATime() {
        var lane = lane()
        lane.recordAdded()
        lane.ended(.answered(isMultiplexed: false), nowMs: 1)
        #expect(lane.limit == 1)
        #expect(lane.room == 1)
    }

    @Test func onlyTimeoutsInARowRetireALane() {
        var lane = lane()
        for _ in 0..<8 { lane.recordAdded() }
        let endings: [LaneState.Ending] = [
            .answered(isMultiplexed: true), .timedOut, .timedOut, .answered(isMultiplexed: true), .timedOut, .timedOut,
        ]
        for ending in endings { lane.ended(ending, nowMs: 1) }
        #expect(lane.phase == .ready)
        lane.ended(.timedOut, nowMs: 2)
        #expect(lane.phase == .retiring)
        #expect(lane.room == 0)
        #expect(!lane.isDrained)
        lane.ended(.withdrawn, nowMs: 3)
        #expect(lane.isDrained)
    }

    @Test(arguments: [
        (LaneState.Ending.refused(isEarlier: false), LaneState.Phase.retiring), (.refused(isEarlier: true), .ready),
        (.connectionFailed(isEarlier: false), .retiring), (.connectionFailed(isEarlier: true), .ready),
        (.streamFailed(isCalm: true), .ready), (.withdrawn, .ready),
    ])
    func endingDecidesWhetherALaneRetires(row: (ending: LaneState.Ending, phase: LaneState.Phase)) {
        var lane = lane()
        lane.recordAdded()
        lane.recordAdded()
        lane.ended(.answered(isMultiplexed: true), nowMs: 1)
        lane.ended(row.ending, nowMs: 2)
        #expect(lane.phase == row.phase)
    }

    @Test func enhanceYourCalmHalvesTheWindow() {
        var lane = lane()
        for _ in 0..<3 { lane.recordAdded() }
        lane.ended(.answered(isMultiplexed: true), nowMs: 1)
        lane.ended(.streamFailed(isCalm: false), nowMs: 1)
        #expect(lane.limit == 50)
    }

    @Test func connectionThatRefusesMoreThanItAnswersHalvesTheWindowOnce() {
        var lane = lane()
        for _ in 0..<20 { lane.recordAdded() }
        for _ in 0..<5 { lane.ended(.answered(isMultiplexed: true), nowMs: 1) }
        lane.lostConnection()
        #expect(lane.phase == .opening)
        for _ in 0..<5 { lane.ended(.refused(isEarlier: true), nowMs: 2) }
        #expect(lane.window.limit == 100)
        for _ in 0..<10 { lane.ended(.refused(isEarlier: true), nowMs: 2) }
        #expect(lane.window.limit == 50)
    }

    @Test func stallShrinksTheWindowAndKeepsOneRequest() {
        var lane = lane()
        lane.recordAdded()
        lane.ended(.answered(isMultiplexed: true), nowMs: 0)
        for _ in 0..<30 { lane.recordAdded() }
        #expect(lane.stalled(20, running: 10, nowMs: 1) == 20)
        #expect(lane.limit == 10)
        #expect(lane.stalled(4, running: 0, nowMs: 2) == 3)
        #expect(lane.limit == 1)
    }

    @Test func openingLaneDoesNotStall() {
        var lane = lane()
        lane.recordAdded()
        #expect(lane.stalled(1, running: 0, nowMs: 9_000) == 0)
        #expect(lane.limit == 100)
    }

    // MARK: Engines that read the server's settings

    /// A lane of an engine that connects without a request.
    private func selfOpening() -> LaneState {
        let window = StreamWindow(maximum: 100, limit: 100)
        return LaneState(window: window, timeoutsToRetire: 3, probes: 0, nowMs: 0)
    }

    @Test func laneThatConnectsItselfTakesNoRequestBeforeItIsOpen() {
        var lane = selfOpening()
        #expect(lane.room == 0)
        #expect(lane.limit == 100)
        lane.advance(nowMs: 5_000)
        #expect(lane.room == 0)
        lane.opened(streams: 60)
        #expect(lane.phase == .ready)
        #expect(lane.room == 60)
    }

    @Test func serverLimitIsFollowedDownToZeroAndUpAgain() {
        var lane = selfOpening()
        lane.opened(streams: 1_000)
        #expect(lane.limit == 100)
        for _ in 0..<10 { lane.recordAdded() }
        lane.opened(streams: 5)
        #expect((lane.limit, lane.room) == (5, 0))
        lane.opened(streams: 0)
        #expect((lane.limit, lane.phase) == (0, .ready))
        lane.opened(streams: 100)
        #expect(lane.room == 90)
    }

    @Test func laneThatWasNeverOpenCouldNotConnect() {
        var failed = selfOpening()
        failed.retire()
        #expect(failed.couldNotConnect)
        var opened = selfOpening()
        opened.opened(streams: 0)
        opened.retire()
        #expect(!opened.couldNotConnect)
        // A lane of libcurl ends like this when its only request was cut off.
        var other = lane()
        other.retire()
        #expect(!other.couldNotConnect)
    }

    /// The limit is known: what the socket does not take says nothing about it.
    @Test func stallUnderAKnownLimitChangesNoWindow() {
        var lane = selfOpening()
        lane.opened(streams: 100)
        for _ in 0..<30 { lane.recordAdded() }
        #expect(lane.stalled(20, running: 10, nowMs: 1) == 20)
        #expect(lane.stalled(10, running: 0, nowMs: 2) == 10)
        #expect(lane.limit == 100)
        #expect(!lane.isPaused)
        lane.opened(streams: 0)
        #expect(lane.isPaused)
    }

    @Test func retiringLaneIsNotOpenedAgain() {
        var lane = selfOpening()
        lane.retire()
        lane.opened(streams: 100)
        #expect((lane.phase, lane.limit) == (.retiring, 0))
    }

    @Test func overloadedServerHalvesTheWindowAndRetiresTheLane() {
        var lane = selfOpening()
        lane.opened(streams: 100)
        lane.retireOverloaded(nowMs: 1)
        lane.retireOverloaded(nowMs: 2)
        #expect(lane.isOverloaded)
        #expect((lane.phase, lane.window.limit) == (.retiring, 50))
    }
}

@Suite struct StreamWindowTests {
    @Test func windowGrowsOnlyWhenFullAndAfterItsPause() {
        var window = StreamWindow(maximum: 100, limit: 100)
        window.stalled(running: 10, nowMs: 0)
        #expect(window.limit == 10)
        window.answered(wasFull: true, nowMs: 999)
        #expect(window.limit == 10)
        window.answered(wasFull: false, nowMs: 1_000)
        #expect(window.limit == 10)
        window.answered(wasFull: true, nowMs: 1_000)
        #expect(window.limit == 11)
    }

    @Test func everyStallDoublesThePause() {
        var window = StreamWindow(maximum: 10, limit: 10)
        var now: Int64 = 0
        for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] as [Int64] {
            window.stalled(running: 5, nowMs: now)
            window.answered(wasFull: true, nowMs: now + pause - 1)
            #expect(window.limit == 5)
            window.answered(wasFull: true, nowMs: now + pause)
            #expect(window.limit == 6)
            now += pause
        }
    }

    @Test func windowStaysWithinItsBounds() {
        var window = StreamWindow(maximum: 3, limit: 9)
        #expect(window.limit == 3)
        window.answered(wasFull: true, nowMs: 0)
        #expect(window.limit == 3)
        for now in 0..<9 { window.halve(nowMs: Int64(now)) }
        #expect(window.limit == 1)
        window.stalled(running: 0, nowMs: 20)
        #expect(window.limit == 1)
    }
}
