import FanfareConfiguration
import FanfareCore
import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Which leases are renewed, and what an answer may change.
@Suite struct HeartbeatTests {
    private final class Bench {
        let loop: EventLoop
        let leases = LeaseTable(worker: "w", nonce: 0)
        let driver: HeartbeatDriver
        /// By project; "" outside a cluster.
        private(set) var connections: [String: FakeConnection] = [:]
        private(set) var reports: [String] = []

        var redis: FakeConnection { connections[""] ?? FakeConnection() }

        init(url: String = "redis://localhost:1") throws {
            loop = try EventLoop()
            let made = Made()
            let inbox = Inbox<Heartbeat.Report>()
            driver = HeartbeatDriver(
                loop: loop,
                configuration: WorkerConfiguration(
                    settings: Configuration(),
                    redis: try RedisDeployment(url: url),
                    projects: [],
                    name: "w"
                ),
                leases: leases,
                reports: inbox,
                connection: { made.connection($0) }
            )
            made.onConnection = { [unowned self] in connections[$0] = $1 }
            loop.attach(inbox) { [unowned self] report in
                switch report {
                case .counters(let project, let counters):
                    reports.append("\(project) \(counters.map { "\($0.worker)=\($0.counter)" }.joined())")
                case .fenced(let project, let name): reports.append("\(project) \(name) fenced")
                case .functionsMissing(let project): reports.append("\(project) missing")
                }
            }
        }

        private final class Made {
            var onConnection: (String, FakeConnection) -> Void = { _, _ in }
            func connection(_ project: String) -> FakeConnection {
                let connection = FakeConnection()
                onConnection(project, connection)
                return connection
            }
        }

        func hold(_ project: String, until: UInt64 = 1) {
            leases.open(project)
            leases.hold(project, until: until)
        }
    }

    private static let ok = RedisValue.pairs(["outcome": .text("ok"), "counters": .pairs(["w.0.1": .text("4")])])

    private func started(_ bench: Bench) -> Bench {
        bench.driver.start()
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 2_000)
        return bench
    }

    @Test func heldLeasesAreRenewedEachInterval() throws {
        let bench = try Bench()
        bench.leases.open("q")
        bench.hold("p")
        bench.driver.start()
        #expect(bench.redis.hasConnected)
        bench.redis.becomeReady()
        for _ in 0..<3 {
            bench.loop.advance(milliseconds: 1_999)
            #expect(bench.redis.removeNames() == [])
            bench.loop.advance(milliseconds: 1)
            #expect(bench.redis.removeNames() == ["renew"], "only the registered project")
            #expect(bench.redis.waiting.last?.words[1] == "w.0.1")
            #expect(bench.redis.waiting.last?.timeoutMs == 2_000)
        }
    }

    @Test func answerProlongsTheLeaseAndReportsTheCounters() throws {
        let bench = try Bench()
        bench.hold("p")
        _ = started(bench)
        bench.redis.answer(Self.ok)
        bench.loop.advance()
        #expect(bench.leases.lease(in: "p").validUntil > 1)
        #expect(bench.reports == ["p w.0.1=4"])
    }

    @Test func leasesOfSeveralProjectsAreRenewedByOneCall() throws {
        let bench = try Bench()
        for project in ["p", "q"] { bench.hold(project) }
        _ = started(bench)
        #expect(bench.redis.waiting.map(\.name) == ["renewals"])
        bench.redis.answer(.array([.text("fenced"), .error("WRONGTYPE a key")]))
        bench.loop.advance()
        let first = try #require(bench.reports.first)
        #expect(bench.reports.count == 1 && first.hasSuffix(" w.0.1 fenced"))
        bench.loop.advance(milliseconds: 2_000)
        bench.redis.answer(.array([Self.ok, Self.ok]))
        bench.loop.advance()
        #expect(bench.reports.dropFirst().sorted() == ["p w.0.1=4", "q w.0.1=4"])
        #expect(bench.leases.lease(in: "p").validUntil > 1 && bench.leases.lease(in: "q").validUntil > 1)
    }

    /// Another version's library knows `renew` only.
    @Test func leasesAreRenewedOneByOneWhereTheLibraryIsOlder() throws {
        let bench = try Bench()
        for project in ["p", "q"] { bench.hold(project) }
        _ = started(bench)
        #expect(bench.redis.removeNames() == ["renewals"])
        bench.redis.fail(.functionNotFound)
        #expect(bench.redis.removeNames() == ["renew", "renew"], "the leases of this turn")
        bench.loop.advance(milliseconds: 2_000)
        #expect(bench.redis.removeNames() == ["renew", "renew"])
        bench.loop.advance(milliseconds: 60_000)
        #expect(bench.redis.removeNames().last == "renewals", "the library may have been loaded again")
    }

    /// Its text is long, and the same at most renewals.
    @Test func reportIsWrittenAtAChangeAndEverySecondTime() throws {
        let bench = try Bench()
        bench.hold("p")
        bench.driver.start()
        bench.redis.becomeReady()
        var hasReport: [Bool] = []
        for turn in 0..<6 {
            if turn == 3 { bench.leases.setReport(WorkerReport(inFlight: 7), in: "p") }
            bench.loop.advance(milliseconds: 2_000)
            hasReport.append(!bench.redis.waiting[0].words[2].isEmpty)
            bench.redis.answer(Self.ok)
        }
        #expect(hasReport == [true, false, true, true, true, false])
    }

    // MARK: Leases that rest

    /// Two projects in which the worker holds nothing; its names there are w.0.1 and w.0.2.
    private func idle() throws -> Bench {
        let bench = try Bench()
        bench.leases.lost("q")
        for project in ["p", "q"] {
            bench.hold(project)
            bench.leases.rest(project)
        }
        bench.driver.start()
        bench.redis.becomeReady()
        return bench
    }

    /// Answers the renewals of the next turn as the library does, and returns the names in them, in brackets where the
    /// lease may rest.
    private func turn(_ bench: Bench, counter: String = "3000000000001") -> Set<String> {
        bench.loop.advance(milliseconds: 2_000)
        guard let sent = bench.redis.waiting.first else { return [] }
        var (names, replies): (Set<String>, [RedisValue]) = ([], [])
        for start in stride(from: 0, to: sent.arguments.count, by: 3) {
            let (name, rests) = (sent.arguments[start], sent.arguments[start + 2] == "1")
            names.insert(rests ? "(\(name))" : name)
            let counters = RedisValue.pairs([name: .text(rests ? "4000000000001" : counter)])
            replies.append(.pairs(["outcome": .text("ok"), "counters": counters]))
        }
        bench.redis.answer(sent.name == "renew" ? replies[0] : .array(replies))
        return names
    }

    private static let second: UInt64 = 1_000_000_000

    @Test func leaseOfAWorkerThatHoldsNothingIsRenewedSeldom() throws {
        let bench = try idle()
        #expect(turn(bench) == ["w.0.1", "w.0.2"], "whether every worker knows of rests is not known yet")
        #expect(turn(bench) == ["w.0.1", "w.0.2"], "it was idle for less than an interval")
        #expect(turn(bench) == ["w.0.1", "(w.0.2)"], "one lease never rests")
        #expect(bench.leases.lease(in: "p").validUntil < SystemClock.bootNs + 10 * Self.second)
        #expect(bench.leases.lease(in: "q").validUntil > SystemClock.bootNs + 80 * Self.second)
        let next = (1...40).first { _ in turn(bench) != ["w.0.1"] }
        #expect(next.map((23...30).contains) == true)
    }

    @Test func restEndsWithWorkAndIsInterruptedByNews() throws {
        let bench = try idle()
        for _ in 0..<3 { _ = turn(bench) }
        bench.leases.setReport(WorkerReport(isAnswering: true), in: "q")
        #expect(turn(bench) == ["w.0.1", "(w.0.2)"], "its report has changed")
        #expect(turn(bench) == ["w.0.1"])
        bench.leases.renewEach()
        #expect(turn(bench) == ["w.0.1", "(w.0.2)"])
        #expect(turn(bench) == ["w.0.1"])
        bench.leases.wake("q", until: SystemClock.bootNs)
        #expect(turn(bench) == ["w.0.1", "w.0.2"])
        bench.leases.rest("q")
        #expect(turn(bench) == ["w.0.1", "w.0.2"])
        #expect(turn(bench) == ["w.0.1", "(w.0.2)"])
    }

    /// It would declare the worker dead.
    @Test func noLeaseRestsBesideAnOlderWorker() throws {
        let bench = try idle()
        for _ in 0..<4 { #expect(turn(bench, counter: "17") == ["w.0.1", "w.0.2"]) }
    }

    /// It shows at first in the project whose lease never rests.
    @Test func olderWorkerThatComesInterruptsEachRest() throws {
        let bench = try idle()
        for _ in 0..<3 { _ = turn(bench) }
        #expect(turn(bench, counter: "17") == ["w.0.1"])
        #expect(turn(bench, counter: "17") == ["w.0.1", "(w.0.2)"])
    }

    /// The work came after the renewal that Redis counted as a rest.
    @Test func lateAnswerProlongsNoRestThatHasEnded() throws {
        let bench = try idle()
        for _ in 0..<2 { _ = turn(bench) }
        bench.loop.advance(milliseconds: 2_000)
        bench.leases.wake("q", until: 7)
        bench.leases.rest("q")
        let names = bench.redis.waiting[0].arguments.filter { $0.hasPrefix("w.") }
        let replies = names.map {
            RedisValue.pairs(["outcome": .text("ok"), "counters": .pairs([$0: .text("4000000000001")])])
        }
        bench.redis.answer(.array(replies))
        #expect(bench.leases.lease(in: "q").validUntil < SystemClock.bootNs + 10 * Self.second)
        #expect(turn(bench) == ["w.0.1", "w.0.2"])
    }

    @Test(arguments: [nil, RedisValue.text("unheard of")]) func leaseWithoutAnAnswerEnds(_ answer: RedisValue?) throws {
        let bench = try Bench()
        bench.hold("p")
        _ = started(bench)
        if let answer { bench.redis.answer(answer) } else { bench.redis.lose() }
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.leases.lease(in: "p").validUntil == 1)
        #expect(bench.reports == [])
    }

    @Test func deathIsReportedWithItsName() throws {
        let bench = try Bench()
        bench.hold("p")
        _ = started(bench)
        bench.redis.answer(.text("fenced"))
        bench.loop.advance()
        #expect(bench.reports == ["p w.0.1 fenced"])
        #expect(bench.leases.lease(in: "p").validUntil == 1)
    }

    /// The answer is for a name that was lost meanwhile; the next one is registered, and its lease is its own.
    @Test func lateAnswerDoesNotProlongTheNextLease() throws {
        let bench = try Bench()
        bench.hold("p")
        _ = started(bench)
        bench.leases.lost("p")
        bench.redis.answer(Self.ok)
        #expect(bench.leases.lease(in: "p").validUntil == 0)
        bench.loop.advance(milliseconds: 2_000)
        #expect(bench.redis.removeNames() == ["renew"], "a lost lease is not renewed")
    }

    @Test func missingFunctionIsReported() throws {
        let bench = try Bench()
        _ = started(bench)
        bench.redis.onFunctionMissing()
        bench.loop.advance()
        #expect(bench.reports == [" missing"])
    }

    @Test func stopClosesTheConnection() throws {
        let bench = try Bench()
        bench.hold("p")
        _ = started(bench)
        bench.driver.stop()
        #expect(bench.redis.state == .closed)
    }

    // MARK: A cluster

    @Test func eachProjectOfAClusterHasItsConnectionWhileItIsServed() throws {
        let bench = try Bench(url: "redis-cluster://localhost:1")
        for project in ["p", "q"] { bench.hold(project) }
        bench.driver.start()
        #expect(bench.connections.keys.sorted() == ["p", "q"])
        for connection in bench.connections.values { connection.becomeReady() }
        bench.loop.advance(milliseconds: 2_000)
        for project in ["p", "q"] { #expect(bench.connections[project]?.removeNames() == ["renew"]) }
        bench.leases.close("q")
        bench.leases.open("r")
        bench.loop.advance(milliseconds: 2_000)
        #expect(bench.connections["q"]?.state == .closed)
        #expect(bench.connections["r"]?.hasConnected == true)
        #expect(bench.connections["p"]?.removeNames() == ["renew"])
    }
}
