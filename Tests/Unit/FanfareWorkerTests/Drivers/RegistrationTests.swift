import FanfareCore
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// How a worker becomes known to a project.
@Suite struct RegistrationTests {
    private let bench: DriverBench
    private var registration: Registration { bench.runner.registration }
    private let registered = RedisValue.pairs(["outcome": .text("ok"), "news_cursor": .text("9")])

    init() throws {
        bench = try DriverBench(isReady: false)
        bench.redis.becomeReady()
    }

    // MARK: The group

    @Test(arguments: [nil, "BUSYGROUP exists"]) func groupIsThereWhetherMadeOrFound(_ error: String?) {
        registration.createGroup()
        #expect(!registration.hasGroup)
        if let error { bench.redis.refuse(error) } else { bench.redis.answer(.status("OK")) }
        #expect(registration.hasGroup)
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.sent() == ["XGROUP"])
        #expect(bench.heard.messages == [])
    }

    @Test func groupThatCannotBeMadeIsTriedAgain() {
        registration.createGroup()
        bench.redis.refuse("WRONGTYPE not a stream")
        #expect(!registration.hasGroup)
        bench.loop.advance(milliseconds: 999)
        #expect(bench.sent() == ["XGROUP"])
        bench.loop.advance(milliseconds: 1)
        #expect(bench.sent() == ["XGROUP"])
        #expect(bench.heard.messages == ["The job stream cannot be prepared."])
    }

    @Test func nothingIsTriedAgainWithoutAConnection() {
        registration.createGroup()
        registration.register()
        bench.redis.lose()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.namesWhileAway == [])
    }

    // MARK: The lease

    @Test func leaseBeginsWithTheRegistration() {
        registration.register()
        registration.register()
        #expect(bench.redis.waiting.map(\.words) == [["register", DriverBench.name]])
        #expect(!registration.isRegistered && !bench.context.leaseHolds && bench.leases.held.isEmpty)
        bench.redis.answer(registered)
        #expect(registration.isRegistered && bench.context.leaseHolds)
        #expect(bench.leases.held.map(\.name) == [DriverBench.name])
        #expect(bench.claimer.plan.newsCursor == "9")
    }

    @Test func failedRegistrationIsTriedAgain() {
        registration.register()
        bench.redis.refuse("NOPERM no right")
        #expect(!registration.isRegistered && bench.leases.held.isEmpty)
        #expect(bench.heard.messages == ["The worker cannot register."])
        bench.loop.advance(milliseconds: 999)
        #expect(bench.sent() == ["register"])
        bench.loop.advance(milliseconds: 1)
        #expect(bench.sent() == ["register"])
    }

    /// The answer is for a name that is dead.
    @Test func nameThatDiedBeforeItsAnswerIsNotHeld() {
        registration.register()
        bench.leases.lost("p")
        registration.registerAgain()
        bench.redis.answer(registered)
        #expect(!registration.isRegistered && bench.leases.held.isEmpty)
        #expect(bench.redis.waiting.map(\.words) == [["register", "w.0.2"]])
        bench.redis.answer(registered)
        #expect(bench.leases.held.map(\.name) == ["w.0.2"])
    }

    @Test func drainingWorkerDoesNotRegister() {
        bench.runner.drain()
        registration.registerAgain()
        #expect(bench.sent() == [])
    }
}
