import FanfareConfiguration
import FanfareCore
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Taking over from workers that are silent.
@Suite struct ReclaimerTests {
    private let bench: DriverBench
    private var reclaimer: Reclaimer { bench.runner.reclaimer }

    init() throws {
        // A short lease: the tests of deaths observe for as long.
        bench = try DriverBench { ($0.worker.leaseMs, $0.worker.renewMs) = (400, 2) }
    }

    private func answer(_ cursor: String, _ entries: Int, deleted: Int = 0) {
        bench.redis.answer(
            .array([
                .text(cursor), .array((0..<entries).map { .text("\($0)-0") }),
                .array((0..<deleted).map { .text("\($0)-1") }),
            ])
        )
    }

    // MARK: Entries

    @Test func entriesThatAreIdleForALeaseAreTakenOver() {
        reclaimer.claimEntries()
        let command = ["XAUTOCLAIM", "fanfare:{p}:jobs", "fanfare", "w", "400", "0-0", "COUNT", "64", "JUSTID"]
        #expect(bench.redis.waiting.map(\.words) == [command])
        answer("0-0", 0)
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["XAUTOCLAIM"])
        #expect(!reclaimer.isClaiming)
    }

    @Test(arguments: ["drain", "comparison"]) func nothingIsTakenOverWithout(_ condition: String) {
        if condition == "drain" { bench.runner.drain() } else { bench.context.isReady = false }
        reclaimer.claimEntries()
        #expect(bench.sent() == [])
    }

    /// What was given has to be read before more is taken over: others have room, too.
    @Test func nextPageWaitsUntilTheGivenEntriesAreRead() {
        reclaimer.claimEntries()
        answer("5-0", 2)
        #expect(reclaimer.isClaiming)
        bench.loop.advance(milliseconds: 100)
        #expect(bench.sent() == ["XAUTOCLAIM"])
        #expect(bench.intake.demand.leftovers == .readable)
        bench.intake.leftoversReread()
        bench.loop.advance(milliseconds: 20)
        #expect(bench.redis.waiting.map { $0.words[5] } == ["5-0"])
    }

    @Test func drainEndsTheSearch() {
        reclaimer.claimEntries()
        answer("5-0", 0)
        bench.runner.drain()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["XAUTOCLAIM"])
    }

    @Test func lostAnswerLeavesTheSearchWhereItWas() {
        reclaimer.claimEntries()
        answer("5-0", 0)
        bench.loop.advance(milliseconds: 20)
        bench.redis.lose()
        bench.loop.advance(milliseconds: 1_000)
        bench.redis.becomeReady()
        reclaimer.claimEntries()
        #expect(bench.redis.waiting.map { $0.words[5] } == ["5-0"])
        #expect(bench.redis.namesWhileAway == [])
    }

    @Test func entriesThatWereDeletedWhilePendingAreLogged() {
        reclaimer.claimEntries()
        answer("0-0", 0, deleted: 3)
        #expect(bench.heard.messages == ["Entries were deleted from the job stream while they were pending."])
    }

    // MARK: Deaths

    /// Observes unmoved counters until a worker is declared dead.
    private func observeUntilDeath() {
        while bench.redis.waiting.isEmpty { reclaimer.observe([("other.z.1", "5"), (DriverBench.name, "5")]) }
    }

    @Test func workerWhoseCounterStandsStillIsDeclaredDead() {
        observeUntilDeath()
        #expect(bench.redis.waiting.map(\.words) == [["declare_dead", "other.z.1", "5"]], "never this worker itself")
    }

    @Test func freedBatchesAreClaimedAtOnce() {
        var lost: [String] = []
        reclaimer.onLost = { lost.append("\($0) \($1)") }
        observeUntilDeath()
        bench.redis.answer(.integer(2))
        #expect(lost == ["other.z.1 2"])
        #expect(bench.sent() == ["declare_dead", "claim"])
    }

    /// It renewed its lease meanwhile, or the answer is not known.
    @Test(arguments: [RedisValue.integer(-1), nil]) func workerThatIsNotDeadIsLeftAlone(_ answer: RedisValue?) {
        var lost: [String] = []
        reclaimer.onLost = { lost.append("\($0) \($1)") }
        observeUntilDeath()
        if let answer { bench.redis.answer(answer) } else { bench.redis.refuse() }
        #expect(lost == [])
        #expect(bench.sent() == ["declare_dead"])
    }
}
