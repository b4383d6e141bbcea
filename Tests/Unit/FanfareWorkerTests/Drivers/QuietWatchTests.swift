import FanfareCore
import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// What a worker asks Redis while its projects have nothing to do, and how it learns that they have.
@Suite struct QuietWatchTests {
    private let bench: SessionBench
    private var redis: FakeConnection { bench.redis }

    /// Both projects are quiet: their last claims found nothing.
    init() throws {
        bench = try SessionBench(projects: ["p", "q"])
        bench.work()
        serve(milliseconds: 1_000)
        redis.serve(answer)
        _ = redis.removeNames()
    }

    private func answer(_ sent: FakeConnection.Sent) -> RedisValue? {
        sent.usualReply
    }

    private func serve(milliseconds: Int) {
        for _ in 0..<milliseconds {
            bench.loop.advance(milliseconds: 1)
            redis.serve(answer)
        }
    }

    @Test func quietProjectsAreCountedTogether() {
        #expect(bench.link.runners.map(\.context.isQuiet) == [true, true])
        bench.loop.advance(milliseconds: 200)
        #expect(
            redis.waiting.first { $0.name == "EXISTS" }?.arguments == [
                "fanfare:{p}:jobs_open", "fanfare:{p}:compact", "fanfare:{p}:paused", "fanfare:{p}:redo",
                "fanfare:{q}:jobs_open", "fanfare:{q}:compact", "fanfare:{q}:paused", "fanfare:{q}:redo",
            ]
        )
    }

    @Test func quietWorkerSaysLittle() {
        serve(milliseconds: 10_000)
        let names = redis.removeNames()
        #expect(!names.contains("claim") && !names.contains("reconcile") && !names.contains("XAUTOCLAIM"))
        #expect(names.count { $0 == "EXISTS" } == 50)
    }

    @Test func projectWithAJobClaims() {
        bench.loop.advance(milliseconds: 200)
        redis.serve { $0.name == "EXISTS" ? ($0.arguments.count == 8 ? .integer(1) : nil) : answer($0) }
        // Both were counted once more, one by one.
        redis.serve { $0.name == "EXISTS" ? .integer($0.arguments[0].contains("{q}") ? 1 : 0) : nil }
        bench.loop.advance()
        let claims = redis.waiting.filter { $0.name == "claim" }
        #expect(claims.count == 1)
        #expect(bench.link.runners.map(\.claimer.plan.isAsking) == [false, true])
    }

    /// No send begins on news that is older than a second, and the project has read none.
    @Test func entryIsPrecededByAClaim() throws {
        bench.runner.intake.receive([try #require(StreamEntry(.array([.text("1-1"), .array([])])))])
        bench.loop.advance()
        #expect(redis.removeNames().prefix(2) == ["claim", "reject"])
    }

    @Test func worksAgainAfterALostConnection() {
        bench.loop.advance(milliseconds: 200)
        redis.lose()
        redis.becomeReady()
        bench.serve()
        serve(milliseconds: 1_000)
        #expect(redis.removeNames().contains("EXISTS"))
    }
}
