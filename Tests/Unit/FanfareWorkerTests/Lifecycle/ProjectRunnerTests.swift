import FanfareConfiguration
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// What a project's runner starts and ends, and how its roles are connected.
@Suite struct ProjectRunnerTests {
    // MARK: Timers

    /// The commands of a started project in so many milliseconds, in which nothing is answered.
    private func commands(of bench: DriverBench, in milliseconds: Int64) -> [String] {
        bench.runner.start()
        bench.loop.advance(milliseconds: milliseconds)
        return bench.redis.removeNames()
    }

    @Test func entriesOfDeadReadersAreClaimedTwiceALease() throws {
        let bench = try DriverBench { $0.worker.leaseMs = 10_000 }
        bench.connect()
        #expect(!commands(of: bench, in: 4_999).contains("XAUTOCLAIM"))
        bench.loop.advance(milliseconds: 1)
        #expect(bench.redis.names.contains("XAUTOCLAIM"))
    }

    @Test(arguments: [("redis-sentinel://localhost:1", true), ("redis://localhost:1", false)])
    func replicasOfSentinelsAreAskedEachSecond(_ url: String, _ isAsked: Bool) throws {
        let bench = try DriverBench(url: url)
        bench.connect()
        bench.loop.advance(milliseconds: 3_000)
        _ = bench.redis.removeNames()
        #expect(commands(of: bench, in: 1_000).contains("WAIT") == isAsked)
    }

    @Test func closedProjectDoesNothingMore() throws {
        let bench = try DriverBench()
        bench.runner.start()
        bench.runner.close()
        bench.loop.advance(milliseconds: 120_000)
        #expect(bench.redis.names == [])
    }

    // MARK: Roles

    @Test func refusedWriteIsReportedAsAFullRedis() throws {
        let bench = try DriverBench()
        bench.runner.start()
        bench.writer.open(isSameServer: true)
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.refuse("OOM full")
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.leases.report(in: "p").isRedisFull)
    }

    @Test func copiedAudienceIsClaimedAtOnce() throws {
        let bench = try DriverBench()
        bench.claimer.onCopying("j")
        bench.redis.answer(.text("run_id:abc\r\n"))
        bench.redis.answer(.pairs(["outcome": .text("complete")]))
        #expect(bench.sent() == ["INFO", "copy", "claim"])
    }

    @Test func projectIsIdleOnceItsClaimFoundNothing() throws {
        let bench = try DriverBench()
        #expect(!bench.runner.isIdle, "nothing is known of its jobs")
        bench.claimer.claim()
        #expect(!bench.runner.isIdle && !bench.runner.isDrained)
        bench.redis.answer(.claimed(nowMs: bench.context.nowMs))
        #expect(bench.runner.isIdle && bench.runner.isDrained)
        bench.writer.write(DriverBench.flush("a"))
        #expect(!bench.runner.isIdle && !bench.runner.isDrained)
    }

    // MARK: Transports and credentials

    @Test func projectOverXMPPAsksRedisForItsConnection() throws {
        var project = WorkerConfiguration.Project(settings: .init(id: "p"), serverKey: "key")
        project.settings.transport = .xmpp
        project.settings.senderID = "1"
        let bench = try DriverBench(project: project)
        bench.loop.advance()
        #expect(bench.redis.waiting.map(\.words) == [["connect", DriverBench.name, "0", "1"]])
    }

    @Test func projectWithoutItsCredentialSendsNothing() throws {
        var project = WorkerConfiguration.Project(settings: .init(id: "p"))
        project.lostCredential = "credentials: the file was deleted"
        let bench = try DriverBench(project: project)
        let status = bench.runner.gauges.status()
        #expect(!status.canSend && status.state == "credentials: credentials: the file was deleted")
    }
}
