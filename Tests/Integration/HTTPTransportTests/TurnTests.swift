import EventLoop
import FanfareModel
import Testing

@testable import CurlTransport
@testable import HTTPLanes

/// What happens within one turn of the loop, and in which order.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct TurnTests {
    /// On lanes that were full, every answer makes room for one request: waiting for the next turn it would wait for
    /// everything that this turn still has to do.
    @Test(arguments: TestedEngine.tested) func requestAfterAnAnswerLeavesInTheSameTurn(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) {
            $0.maximumLanes = 1
            $0.maximumStreamsPerLane = 1
        }
        var wasCalled = false
        var left: [Bool] = []
        harness.pool.onRoom = { [unowned harness] in
            wasCalled = true
            harness.feed()
        }
        harness.loop.onTurnEnd { [unowned harness] in
            guard wasCalled, harness.outcomes.count < 5 else { return }
            wasCalled = false
            left.append(harness.pool.inFlight == 1 && harness.pool.queue.isEmpty)
        }
        #expect(harness.run(5, url: peer.url).kinds == ["200": 5])
        #expect(left == [true, true, true, true])
    }

    /// Two lanes are full of answers when the turn begins: answers of the first are delivered before the second is
    /// read.
    @Test(arguments: TestedEngine.tested) func answersOfALaneDoNotWaitForTheNextLane(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#)
        let harness = try PoolHarness(engine: engine) {
            $0.maximumLanes = 2
            $0.maximumStreamsPerLane = 40
        }
        var wasReleased = false
        var counts: [[Int]] = [[]]
        harness.pool.onRoom = { [unowned harness] in counts[counts.count - 1].append(harness.outcomes.count) }
        harness.loop.onTurnEnd { [unowned harness, unowned peer] in
            if counts.last != [] { counts.append([]) }
            guard !wasReleased, harness.pool.inFlight == 80,
                (try? peer.ledger().received.count) == 80
            else { return }
            wasReleased = true
            peer.command(#"{"do":"release"}"#)
        }
        #expect(harness.run(80, url: peer.url).kinds == ["200": 80])
        #expect(counts.contains { Set($0).count > 1 }, "\(counts)")
    }

    /// An origin that fails makes the next connection wait, also for what is sent because of the failure.
    @Test(arguments: TestedEngine.tested) func failureDelaysTheRequestsThatFollowIt(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(certificate: try Certificates.shared.get().otherName, arguments: [])
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 3 }
        var slots: [Int] = []
        harness.pool.onRoom = { [unowned harness] in slots.append(harness.pool.freeSlots) }
        #expect(harness.run(1, url: peer.url).kinds == ["unsent": 1])
        #expect(slots == [0])
    }

    /// The loop is held by every part of a pool, so one that is left over holds it too.
    @Test(arguments: TestedEngine.tested) func closedPoolIsFreed(engine: TestedEngine) throws {
        weak var loop: EventLoop?
        try {
            let peer = try ScriptedPeer()
            let harness = try PoolHarness(engine: engine)
            #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
            loop = harness.loop
            #expect(loop != nil)
        }()
        #expect(loop == nil)
    }

    @Test(arguments: TestedEngine.tested) func poolCanBeClosedFromOnRoom(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) {
            $0.maximumLanes = 1
            $0.maximumStreamsPerLane = 1
        }
        harness.pool.onRoom = { [unowned harness] in
            harness.feed()
            harness.pool.close()
        }
        #expect(harness.run(2, url: peer.url).kinds == ["200": 1, "unsent": 1])
        #expect(harness.surplus == 0)
    }

    /// They wait for the connection when the pool learns that no request may begin.
    @Test(arguments: TestedEngine.tested) func requestsOfAnOpeningLaneDoNotBeginWhenStopped(engine: TestedEngine) throws
    {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        var mayBegin = true
        harness.pool.mayBegin = { mayBegin }
        harness.loop.onTurnEnd { [unowned harness] in if harness.pool.openLanes > 0 { mayBegin = false } }
        #expect(harness.run(5, url: peer.url).kinds == ["unsent": 5])
        #expect(!mayBegin)
        #expect(try peer.ledger().requests.isEmpty)
        harness.pool.mayBegin = { true }
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
    }

    /// One stream is free, and the peer holds its request. The others wait, in the pool or in the library.
    @Test(arguments: TestedEngine.tested) func requestsWithoutAStreamDoNotBeginWhenStopped(engine: TestedEngine) throws
    {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#, streams: 1)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        var mayBegin = true
        harness.pool.mayBegin = { mayBegin }
        harness.loop.onTurnEnd { [unowned peer] in
            guard mayBegin, (try? peer.ledger().received.count) == 1 else { return }
            mayBegin = false
            peer.command(#"{"do":"release"}"#)
        }
        #expect(harness.run(5, url: peer.url).kinds == ["200": 1, "unsent": 4])
        #expect(try peer.ledger().requests.count == 1)
    }
}
