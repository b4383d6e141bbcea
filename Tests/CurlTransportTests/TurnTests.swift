import CurlTransport
import EventLoop
import FanfareModel
import Testing

/// What happens within one turn of the loop, and in which order.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct TurnTests {
    /// On lanes that were full, every answer makes room for one request: waiting for the next turn it would wait for
    /// everything that this turn still has to do.
    @Test func whatFollowsAnAnswerLeavesInTheSameTurn() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness {
            $0.maxLanes = 1
            $0.maxStreamsPerLane = 1
        }
        var wasCalled = false
        var left: [Bool] = []
        harness.pool.onRoom = {
            wasCalled = true
            harness.feed()
        }
        harness.loop.onTurnEnd {
            guard wasCalled, harness.outcomes.count < 5 else { return }
            wasCalled = false
            left.append(harness.pool.statistics.inFlight == 1 && harness.pool.statistics.queued == 0)
        }
        #expect(harness.run(5, url: peer.url).kinds == ["200": 5])
        #expect(left == [true, true, true, true])
    }

    /// Two lanes are full of answers when the turn begins: those of the first are delivered before the second is read.
    @Test func theAnswersOfALaneDoNotWaitForTheNextLane() throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#)
        let harness = try PoolHarness {
            $0.maxLanes = 2
            $0.maxStreamsPerLane = 40
        }
        var wasReleased = false
        var counts: [[Int]] = [[]]
        harness.pool.onRoom = { counts[counts.count - 1].append(harness.outcomes.count) }
        harness.loop.onTurnEnd {
            if counts.last != [] { counts.append([]) }
            guard !wasReleased, harness.pool.statistics.inFlight == 80,
                (try? peer.ledger().received.count) == 80
            else { return }
            wasReleased = true
            peer.command(#"{"do":"release"}"#)
        }
        #expect(harness.run(80, url: peer.url).kinds == ["200": 80])
        #expect(counts.filter { !$0.isEmpty } == [[40, 80]])
    }
}
