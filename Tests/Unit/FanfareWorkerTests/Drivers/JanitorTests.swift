import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

@Suite struct JanitorTests {
    private let bench: DriverBench
    private var janitor: Janitor { bench.runner.janitor }

    init() throws { bench = try DriverBench() }

    private static func repaired(_ cursor: String, _ jobs: KeyValuePairs<String, RedisValue> = [:]) -> RedisValue {
        .pairs(["cursor": .text(cursor), "jobs": .pairs(jobs)])
    }

    /// Answers everything; the search for jobs to repair with `reply`.
    private func serve(_ reply: RedisValue) {
        bench.redis.serve { $0.name == "repair" ? reply : .integer(0) }
    }

    @Test func cleaningTrimsStreamsRemovesConsumersAndRepairsJobs() {
        let configuration = bench.context.configuration
        janitor.clean()
        let (outgoing, dead) = (String(configuration.keepOutgoingMs), String(configuration.keepJobMs))
        #expect(
            bench.redis.waiting.map(\.words) == [
                ["trim", "results", outgoing], ["trim", "feedback", outgoing], ["trim", "dead", dead],
                ["trim", "upstream", outgoing], ["remove_idle_consumers", "3600000"], ["repair", "0", "100"],
            ]
        )
    }

    @Test func searchForJobsToRepairContinuesWhereItWas() {
        for (asked, answered) in [("0", "17"), ("17", "0"), ("0", "5")] {
            janitor.clean()
            #expect(bench.redis.waiting.last?.words == ["repair", asked, "100"])
            serve(Self.repaired(answered))
        }
        // Without an answer it stays where it was.
        for _ in 0..<2 {
            janitor.clean()
            #expect(bench.redis.waiting.last?.words == ["repair", "5", "100"])
            bench.redis.lose()
            bench.redis.becomeReady()
        }
    }

    @Test func repairedJobIsLogged() {
        janitor.clean()
        serve(Self.repaired("0", ["j": .integer(2)]))
        #expect(bench.heard.messages.count == 1)
        #expect(bench.heard.metadata.first == ["job": "j", "unknown": "2"])
    }

    @Test func nothingIsCleanedWithoutAConnection() {
        bench.redis.lose()
        janitor.clean()
        #expect(bench.redis.namesWhileAway == [])
    }

    @Test func cleaningRepeatsEachMinuteUntilTheProjectIsClosed() {
        janitor.start()
        bench.loop.advance(milliseconds: 59_999)
        #expect(bench.sent() == [])
        bench.loop.advance(milliseconds: 1)
        #expect(bench.sent().count == 6)
        bench.loop.advance(milliseconds: 60_000)
        #expect(bench.sent().count == 6)
        bench.context.close()
        bench.loop.advance(milliseconds: 600_000)
        #expect(bench.sent() == [])
    }
}
