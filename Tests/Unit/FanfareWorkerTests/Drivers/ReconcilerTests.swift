import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// The comparison with Redis, after which a project begins to work on a connection.
@Suite struct ReconcilerTests {
    private let bench: DriverBench
    private var reconciler: Reconciler { bench.runner.reconciler }
    private static let ok = RedisValue.pairs(["freed": .integer(0), "lost": .array([])])

    init() throws { bench = try Self.bench() }

    /// Connected; nothing was compared.
    private static func bench(url: String = "redis://localhost:1") throws -> DriverBench {
        let bench = try DriverBench(url: url)
        bench.context.isReady = false
        return bench
    }

    @Test(arguments: [true, false]) func comparisonSaysWhatTheWorkerKnows(_ isSameServer: Bool) {
        reconciler.connected(isSameServer: isSameServer)
        let words = ["reconcile", DriverBench.name, "1", isSameServer ? "1" : "0"]
        #expect(bench.redis.waiting.map(\.words) == [words])
    }

    @Test func workBeginsWithTheAnswer() {
        bench.context.isReady = true
        reconciler.connected(isSameServer: true)
        #expect(!bench.context.isReady)
        bench.loop.advance(milliseconds: 10_000)
        #expect(!bench.context.isReady)
        #expect(bench.sent() == ["reconcile"])
        bench.redis.answer(Self.ok)
        #expect(bench.context.isReady)
        #expect(bench.sent() == ["claim"])
    }

    /// An unanswered claim would look like a lost one: its batches would be given back.
    @Test func comparisonWaitsForTheClaimInFlight() {
        bench.context.isReady = true
        bench.claimer.claim()
        reconciler.connected(isSameServer: true)
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["claim"], "no flush either")
        bench.redis.refuse("OOM full")
        bench.loop.advance(milliseconds: 10)
        #expect(bench.redis.waiting.map(\.name) == ["reconcile", "record"])
    }

    @Test func comparisonWaitsForTheHandOverInFlight() throws {
        bench.context.isReady = true
        let fields = RedisValue.array([
            .text("token"), .text("t"), .text("message"), .text(#"{"notification":{"title":"t"}}"#),
        ])
        bench.intake.receive([try #require(StreamEntry(.array([.text("1-0"), fields])))])
        #expect(bench.sent() == ["intake"])
        reconciler.connected(isSameServer: true)
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == [])
        bench.redis.answer(.text("duplicate"))
        bench.loop.advance(milliseconds: 10)
        #expect(bench.sent() == ["reconcile"])
    }

    @Test func connectionThatIsLostWhileTheComparisonWaitsEndsIt() {
        bench.context.isReady = true
        bench.claimer.claim()
        reconciler.connected(isSameServer: true)
        bench.redis.lose()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.redis.namesWhileAway == [])
        #expect(!bench.context.isReady)
    }

    @Test func refusedComparisonIsRepeated() {
        reconciler.connected(isSameServer: false)
        for _ in 0..<3 {
            bench.redis.refuse()
            bench.loop.advance(milliseconds: 199)
            #expect(bench.redis.waiting.isEmpty)
            bench.loop.advance(milliseconds: 1)
            #expect(bench.redis.waiting.map { $0.words[3] } == ["0"], "still another server")
        }
        #expect(!bench.context.isReady)
        #expect(bench.heard.messages.count == 1, "the warning is throttled")
    }

    @Test func lostComparisonIsLeftToTheNextConnection() {
        reconciler.connected(isSameServer: true)
        bench.redis.lose()
        bench.loop.advance(milliseconds: 10_000)
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.sent() == ["reconcile"])
        #expect(bench.redis.namesWhileAway == [])
        #expect(!bench.context.isReady)
    }

    // MARK: A new primary

    @Test func newPrimaryIsUsedAfterThePause() throws {
        let bench = try Self.bench(url: "redis-sentinel://localhost:1")
        bench.runner.reconciler.connected(isSameServer: false)
        bench.redis.answer(Self.ok)
        bench.loop.advance(milliseconds: 2_999)
        #expect(!bench.context.isReady)
        bench.loop.advance(milliseconds: 1)
        #expect(bench.context.isReady)
    }

    @Test func samePrimaryIsUsedAtOnce() throws {
        let bench = try Self.bench(url: "redis-sentinel://localhost:1")
        bench.runner.reconciler.connected(isSameServer: true)
        bench.redis.answer(Self.ok)
        #expect(bench.context.isReady)
    }

    /// The pause of the first connection ends on the second one, which has not been compared.
    @Test func pauseOfAnEarlierConnectionDoesNotMakeTheNextOneReady() throws {
        let bench = try Self.bench(url: "redis-sentinel://localhost:1")
        bench.runner.reconciler.connected(isSameServer: false)
        bench.redis.answer(Self.ok)
        bench.redis.lose()
        bench.runner.disconnected()
        bench.redis.becomeReady()
        bench.runner.reconciler.connected(isSameServer: true)
        bench.loop.advance(milliseconds: 10_000)
        #expect(!bench.context.isReady)
        bench.redis.answer(Self.ok)
        #expect(bench.context.isReady)
    }

    // MARK: Once a lease

    @Test func comparisonRepeatsOnceALease() {
        reconciler.connected(isSameServer: true)
        bench.redis.answer(Self.ok)
        // Answers the claims that follow, so that none is in flight.
        bench.redis.serve { _ in .text("unheard of") }
        _ = bench.sent()
        bench.redis.serve { _ in .text("unheard of") }
        let leaseMs = bench.context.configuration.leaseMs
        reconciler.reconcileIfDue()
        #expect(bench.redis.names.contains("reconcile") == false)
        bench.loop.advance(milliseconds: leaseMs)
        bench.redis.serve { _ in .text("unheard of") }
        bench.loop.advance(milliseconds: 1)
        reconciler.reconcileIfDue()
        reconciler.reconcileIfDue()
        #expect(bench.redis.names.count { $0 == "reconcile" } == 1)
    }

    @Test(arguments: ["lease", "comparison", "drain", "claim"]) func comparisonIsNotRepeatedWith(_ condition: String) {
        bench.context.isReady = true
        bench.loop.advance(milliseconds: 20_000)
        switch condition {
        case "lease": bench.leases.hold("p", until: 0)
        case "comparison": bench.context.isReady = false
        case "drain": bench.runner.drain()
        default: bench.claimer.claim()
        }
        reconciler.reconcileIfDue()
        #expect(!bench.redis.names.contains("reconcile"))
    }
}
