import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// The copy of an audience, part by part.
@Suite struct AudienceCopierTests {
    private final class Calls { var whole = 0 }

    private let bench: DriverBench
    private let copier: AudienceCopier
    private let calls = Calls()

    init() throws {
        bench = try DriverBench()
        copier = AudienceCopier(project: bench.context)
        copier.onWhole = { [calls] in calls.whole += 1 }
    }

    private func outcome(_ outcome: String) { bench.redis.answer(.pairs(["outcome": .text(outcome)])) }

    private func start() {
        copier.copy("j")
        bench.redis.answer(.text("run_id:abc\r\n"))
    }

    @Test(arguments: ["complete", "gone", "parked"]) func partsFollowEachOtherUntilTheEnd(_ end: String) {
        start()
        for _ in 0..<3 {
            #expect(bench.redis.waiting.map(\.words) == [["copy", "j", "abc", "2000"]])
            #expect(calls.whole == 0)
            outcome("more")
        }
        outcome(end)
        #expect(calls.whole == 1 && bench.redis.waiting.isEmpty)
    }

    @Test func oneAudienceIsCopiedAtATime() {
        start()
        copier.copy("k")
        #expect(bench.redis.names == ["INFO", "copy"])
        outcome("complete")
        copier.copy("k")
        #expect(bench.redis.names == ["INFO", "copy", "INFO"])
    }

    /// The next claim names the job again, for any worker.
    @Test(arguments: ["INFO", "copy"]) func failedCallEndsTheCopy(_ call: String) {
        copier.copy("j")
        if call == "copy" { bench.redis.answer(.text("run_id:abc\r\n")) }
        bench.redis.refuse()
        #expect(calls.whole == 0)
        copier.copy("j")
        #expect(bench.redis.waiting.map(\.name) == ["INFO"])
    }

    /// A cursor means nothing without the server's run.
    @Test func serverWithoutARunIsNotAskedForParts() {
        copier.copy("j")
        bench.redis.answer(.text("redis_mode:standalone\r\n"))
        #expect(bench.redis.waiting.isEmpty && calls.whole == 0)
    }

    @Test func drainEndsTheCopy() {
        start()
        bench.runner.drain()
        outcome("more")
        #expect(bench.redis.waiting.isEmpty && calls.whole == 0)
    }
}
