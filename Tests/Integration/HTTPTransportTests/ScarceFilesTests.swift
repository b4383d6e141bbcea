import EventLoop
import FanfareModel
import Testing

@testable import HTTPLanes

/// Pools of a process that may open few files.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ScarceFilesTests {
    /// Two pools on one loop, whose process has files for `lanes` connections.
    private final class Pair {
        let first: PoolHarness
        let second: PoolHarness
        private final class Room { var count: () -> Int = { 0 } }

        init(_ engine: TestedEngine, lanes: Int) throws {
            let room = Room()
            let group = PoolGroup(maximumAnswerBytes: 1 << 20, fileLimit: 64) { room.count() }
            let first = try PoolHarness(engine: engine, group: group)
            let second = try PoolHarness(engine: engine, loop: first.loop, group: group)
            room.count = { [unowned first, unowned second] in
                let open = first.pool.openLanes + second.pool.openLanes
                // Enough for any number of lanes that are being opened, or for none.
                return open < lanes ? 60 : 0
            }
            (self.first, self.second) = (first, second)
        }
    }

    @Test(arguments: TestedEngine.tested) func idleLaneOfOnePoolIsClosedForAnother(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let pair = try Pair(engine, lanes: 1)
        for harness in [pair.first, pair.second, pair.first] {
            #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
            #expect(pair.first.pool.openLanes + pair.second.pool.openLanes == 1)
        }
    }

    /// The requests of a lane that is given up are answered on it.
    @Test(arguments: TestedEngine.tested) func busyLaneIsGivenUpAfterItsRequests(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"answer","status":200,"body":"{}","delay_ms":20}]"#)
        let pair = try Pair(engine, lanes: 1)
        pair.first.run(200, url: peer.url) { _ in pair.second.enqueue(200, url: peer.url, timeoutMs: 20_000) }
        pair.second.run(0, url: peer.url)
        #expect(Array(pair.first.outcomes.values).kinds == ["200": 200])
        #expect(Array(pair.second.outcomes.values).kinds == ["200": 200])
        #expect(try peer.ledger().received.values.allSatisfy { $0 == 2 }, "both pools send the same bodies, once each")
    }

    @Test(arguments: TestedEngine.tested) func waitingRequestNamesTheLimitOfOpenFiles(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let pair = try Pair(engine, lanes: 0)
        let outcome = try #require(pair.first.run(1, url: peer.url, timeoutMs: 300).first)
        #expect(outcome.kind == "unsent")
        #expect(outcome.reason.contains("at most 64 files may be open"), "\(outcome.reason)")
        #expect(outcome.reason.contains(OpenFiles.remedy), "\(outcome.reason)")
    }

    @Test func failureNamesTheLimitOfOpenFilesOnlyWhenItIsReached() {
        for (room, isNamed) in [(PoolGroup.reservedFiles - 1, true), (PoolGroup.reservedFiles, false)] {
            let group = PoolGroup(maximumAnswerBytes: 1 << 20, fileLimit: 64) { room }
            let reason = group.explained("libcurl 77")
            #expect(reason.description.hasPrefix("libcurl 77") && (reason.kind == .files) == isNamed)
            #expect(reason.description.contains("LimitNOFILE") == isNamed)
        }
        let unlimited = PoolGroup(maximumAnswerBytes: 1 << 20) { 0 }
        #expect(unlimited.explained("libcurl 77") == "libcurl 77")
    }
}
