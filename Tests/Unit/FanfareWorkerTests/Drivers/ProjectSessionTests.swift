import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// What each action of the session does in Redis and in the other roles, and which event each answer is.
@Suite struct ProjectSessionTests {
    private let bench: DriverBench
    private var session: ProjectSession { bench.runner.session }
    private static let compared = RedisValue.pairs(["freed": .integer(0), "lost": .array([])])
    private static let registered = RedisValue.pairs(["outcome": .text("ok"), "news_cursor": .text("9")])

    init() throws { bench = try Self.bench() }

    /// The connection is ready; the session does not know of it yet.
    private static func bench(url: String = "redis://localhost:1") throws -> DriverBench {
        let bench = try DriverBench(isReady: false, url: url)
        bench.redis.becomeReady()
        return bench
    }

    private func connect(isSameServer: Bool = true) { session.handle(.connected(isSameServer: isSameServer)) }

    /// Answers what a new connection asks for.
    private func work() {
        connect()
        for answer in [.status("OK"), Self.compared, Self.registered] { bench.redis.answer(answer) }
        _ = bench.redis.removeNames()
    }

    // MARK: The group

    @Test(arguments: [nil, "BUSYGROUP exists"]) func groupIsThereWhetherMadeOrFound(_ error: String?) {
        connect()
        #expect(!session.hasGroup)
        if let error { bench.redis.refuse(error) } else { bench.redis.answer(.status("OK")) }
        #expect(session.hasGroup)
        #expect(bench.heard.messages == [])
    }

    @Test func groupThatCannotBeMadeIsTriedAgain() {
        connect()
        bench.redis.refuse("WRONGTYPE not a stream")
        bench.loop.advance(milliseconds: 999)
        #expect(bench.sent() == ["XGROUP", "reconcile", "register"])
        bench.loop.advance(milliseconds: 1)
        #expect(bench.sent() == ["XGROUP"])
        #expect(bench.heard.messages == ["The job stream cannot be prepared."])
    }

    // MARK: The comparison

    @Test(arguments: [true, false]) func comparisonSaysWhatTheWorkerKnows(_ isSameServer: Bool) {
        connect(isSameServer: isSameServer)
        let words = ["reconcile", DriverBench.name, "1", isSameServer ? "1" : "0"]
        #expect(bench.redis.waiting[1].words == words)
    }

    @Test func workBeginsWithTheAnswers() {
        connect()
        bench.redis.answer(.status("OK"))
        bench.loop.advance(milliseconds: 10_000)
        #expect(!bench.context.isReady && !bench.runner.isReady)
        bench.redis.answer(Self.compared)
        #expect(bench.context.isReady && !bench.runner.isReady)
        bench.redis.answer(Self.registered)
        #expect(bench.runner.isReady)
        #expect(bench.sent() == ["XGROUP", "reconcile", "register", "claim"])
    }

    /// An unanswered claim or hand-over would look like a lost one.
    @Test(arguments: ["claim", "intake"]) func comparisonWaitsForTheCallInFlight(_ call: String) throws {
        work()
        if call == "claim" {
            bench.claimer.claim()
        } else {
            bench.loop.advance()
            bench.redis.answer(.text("no work"))
            let fields = RedisValue.array([
                .text("token"), .text("t"), .text("message"), .text(#"{"notification":{"title":"t"}}"#),
            ])
            bench.intake.receive([try #require(StreamEntry(.array([.text("1-0"), fields])))])
            bench.loop.advance()
        }
        #expect(bench.redis.waiting.map(\.name) == [call])
        connect()
        bench.redis.answer(.text("duplicate"))
        let sent = bench.redis.removeNames()
        #expect(!sent.contains("reconcile"))
        bench.loop.advance(milliseconds: 10)
        #expect(bench.redis.names.contains("reconcile"))
    }

    /// What Redis holds is not known after it, so nothing is sent.
    @Test func unreadableComparisonIsRepeated() {
        connect()
        bench.redis.answer(.status("OK"))
        bench.redis.answer(.text("compared"))
        #expect(!bench.context.isReady)
        #expect(bench.heard.messages == ["Redis cannot say yet which batches this worker holds."])
        bench.redis.answer(Self.registered)
        bench.loop.advance(milliseconds: 200)
        bench.redis.answer(Self.compared)
        #expect(bench.context.isReady)
    }

    @Test func refusedComparisonIsRepeated() {
        connect(isSameServer: false)
        bench.redis.answer(.status("OK"))
        #expect(bench.redis.waiting.map(\.name) == ["reconcile", "register"])
        bench.redis.refuse()
        bench.redis.answer(Self.registered)
        for _ in 0..<3 {
            bench.loop.advance(milliseconds: 199)
            #expect(!bench.redis.waiting.contains { $0.name == "reconcile" })
            bench.loop.advance(milliseconds: 1)
            #expect(bench.redis.waiting.map { $0.words[3] } == ["0"], "still another server")
            bench.redis.refuse()
        }
        #expect(!bench.context.isReady)
        #expect(bench.heard.messages.count == 1, "the warning is throttled")
    }

    @Test func lostCallsAreLeftToTheNextConnection() {
        bench.redis.onStateChange = { [session] state in if state != .ready { session.handle(.disconnected) } }
        connect()
        bench.redis.lose()
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.sent() == ["XGROUP", "reconcile", "register"], "the calls of the first connection")
        #expect(bench.redis.namesWhileAway == [] && bench.redis.waiting.isEmpty)
        #expect(bench.heard.messages == [])
    }

    @Test func newPrimaryIsUsedAfterThePause() throws {
        let bench = try Self.bench(url: "redis-sentinel://localhost:1")
        bench.runner.session.handle(.connected(isSameServer: false))
        for answer in [.status("OK"), Self.compared, Self.registered] { bench.redis.answer(answer) }
        bench.loop.advance(milliseconds: 2_999)
        #expect(!bench.context.isReady)
        bench.loop.advance(milliseconds: 1)
        #expect(bench.context.isReady)
    }

    // MARK: The lease

    @Test func leaseBeginsWithTheRegistration() {
        connect()
        #expect(!session.isRegistered && !bench.context.leaseHolds && bench.leases.held.isEmpty)
        for answer in [.status("OK"), Self.compared, Self.registered] { bench.redis.answer(answer) }
        #expect(session.isRegistered && bench.context.leaseHolds)
        #expect(bench.leases.held.map(\.name) == [DriverBench.name])
        #expect(bench.claimer.plan.newsCursor == "9")
    }

    @Test func failedRegistrationIsTriedAgain() {
        connect()
        for answer in [.status("OK"), Self.compared] { bench.redis.answer(answer) }
        bench.redis.refuse("NOPERM no right")
        #expect(!session.isRegistered && bench.leases.held.isEmpty)
        #expect(bench.heard.messages == ["The worker cannot register."])
        bench.loop.advance(milliseconds: 999)
        #expect(bench.sent().count { $0 == "register" } == 1)
        bench.loop.advance(milliseconds: 1)
        #expect(bench.sent() == ["register"])
    }

    /// The answer is for a name that is dead.
    @Test func nameThatDiedBeforeItsAnswerIsNotHeld() {
        connect()
        for answer in [.status("OK"), Self.compared] { bench.redis.answer(answer) }
        session.declaredDead(DriverBench.name)
        bench.redis.answer(Self.registered)
        #expect(!session.isRegistered && bench.leases.held.isEmpty)
        #expect(bench.redis.waiting.map(\.words) == [["register", "w.0.2"]])
        bench.redis.answer(Self.registered)
        #expect(bench.leases.held.map(\.name) == ["w.0.2"])
    }

    /// A worker that leaves takes its next name, which it does not register.
    @Test func registrationAnsweredAfterTheWorkerLeftHoldsNoName() {
        connect()
        for answer in [.status("OK"), Self.compared] { bench.redis.answer(answer) }
        bench.runner.drain()
        bench.runner.leave {}
        #expect(bench.redis.waiting.first?.name == "register")
        bench.redis.answer(Self.registered)
        #expect(bench.leases.held.isEmpty)
    }

    @Test func drainingWorkerDoesNotRegister() {
        work()
        bench.runner.drain()
        session.declaredDead(DriverBench.name)
        bench.loop.advance(milliseconds: 10_000)
        #expect(!bench.redis.names.contains("register") && bench.leases.held.isEmpty)
    }

    // MARK: The end

    @Test func closedProjectClaimsAndRecordsNothingMore() {
        // Otherwise the project's keys are checked after an error.
        bench.context.redis.onRefused = { _ in }
        work()
        bench.writer.write(DriverBench.flush("a", results: 20))
        session.handle(.close)
        bench.redis.refuse()
        bench.writer.write(DriverBench.flush("b", results: 20))
        bench.claimer.claim()
        connect()
        bench.loop.advance(milliseconds: 120_000)
        #expect(bench.sent() == ["record"])
        #expect(!bench.context.isReady)
    }
}
