import FanfareConfiguration
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FCMWire
@testable import FanfareWorker

/// The life of a worker: its start, other projects while it runs, lost workers, and the order in which it ends.
@Suite struct WorkerShardTests {
    // MARK: Start

    @Test func projectsAreEnteredInTheRegister() throws {
        let bench = try ShardBench([.legacy("p"), .legacy("q")])
        bench.shard.start()
        let register = try #require(bench.connections("register").first)
        #expect(register.hasConnected && register.waiting.isEmpty)
        register.becomeReady()
        #expect(register.waiting.map(\.words) == [["SADD", "fanfare:projects", "p", "q"]])
        register.answer(.integer(2))
        #expect(register.state == .closed)
    }

    @Test func statusFollowsTheConnectionAndTheLease() throws {
        let bench = try ShardBench()
        #expect(bench.status.current.redis == "starting")
        bench.shard.start()
        #expect(bench.status.current.redis == "connecting" && !bench.status.current.isConnected)
        bench.connect()
        bench.serve(milliseconds: 250)
        #expect(bench.status.current.isConnected && bench.status.current.isReady)
        #expect(bench.status.current.projects.map(\.id) == ["p"])
        bench.redis.lose()
        bench.loop.advance(milliseconds: 250)
        #expect(!bench.status.current.isConnected)
        #expect(bench.status.current.redis.hasPrefix("unavailable"))
    }

    @Test func eachProjectOfAClusterHasItsConnections() throws {
        let bench = try ShardBench([.legacy("p"), .legacy("q")], url: "redis-cluster://localhost:1")
        bench.work()
        #expect(bench.connections("worker").count == 2 && bench.connections("reader").count == 2)
        #expect(bench.leases.held.map(\.project).sorted() == ["p", "q"])
    }

    // MARK: The heartbeat's reports

    /// Outside a cluster the report names no project.
    @Test(arguments: [("", true), ("p", true), ("another", false)])
    func missingFunctionsAreLoadedAgain(_ project: String, _ isServed: Bool) throws {
        let bench = try ShardBench()
        bench.work()
        _ = bench.redis.removeNames()
        bench.shard.observed(.functionsMissing(project: project))
        #expect(bench.redis.names.contains("FUNCTION") == isServed)
    }

    @Test func workerThatWasDeclaredDeadRegistersUnderItsNextName() throws {
        let bench = try ShardBench()
        bench.work()
        bench.shard.observed(.fenced(project: "p", name: "w.0.1"))
        #expect(bench.redis.waiting.last?.words == ["register", "w.0.2"])
    }

    /// Observes counters that stand still until another worker is declared dead in the projects.
    private func loseAnotherWorker(_ bench: ShardBench) {
        for project in ["p", "q"] {
            bench.leases.hold(project, until: .max)
            let before = bench.redis.names.count { $0 == "declare_dead" }
            while bench.redis.names.count(where: { $0 == "declare_dead" }) == before {
                bench.shard.observed(.counters(project: project, counters: [("other.z.1", "5")]))
            }
        }
        bench.redis.serve { $0.name == "declare_dead" ? .integer(2) : $0.usualReply }
    }

    private static let loss = "A worker is lost; its batches are taken over."

    @Test(arguments: [false, true]) func lostWorkerIsLoggedOnceWithAllProjects(_ drains: Bool) throws {
        // A short lease: the deaths are observed for as long.
        let bench = try ShardBench([.legacy("p"), .legacy("q")]) { ($0.worker.leaseMs, $0.worker.renewMs) = (400, 2) }
        bench.work()
        loseAnotherWorker(bench)
        #expect(!bench.heard.messages.contains(Self.loss))
        if drains {
            bench.shard.drain()
            bench.serve(milliseconds: 100)
        } else {
            bench.loop.advance(milliseconds: 1_002)
        }
        #expect(bench.heard.messages.count { $0 == Self.loss } == 1)
        let line = try #require(bench.heard.messages.firstIndex(of: Self.loss))
        #expect(bench.heard.metadata[line] == ["worker": "other.z", "batches": "4", "projects": "p, q"])
    }

    /// A lease that rests outlasts the others of its process, though nothing renews it.
    @Test func restingLeasesOfALostWorkerEndWithItsOthers() throws {
        let bench = try ShardBench([.legacy("p"), .legacy("q")]) { ($0.worker.leaseMs, $0.worker.renewMs) = (400, 2) }
        bench.work()
        loseAnotherWorker(bench)
        #expect(bench.leases.takeEachDue(), "the counters in the other projects are asked for")
        _ = bench.redis.removeNames()
        bench.shard.observed(.counters(project: "q", counters: [("other.z.2", "4000000000005")]))
        #expect(bench.redis.names == ["declare_dead"])
    }

    // MARK: The end

    @Test func drainDeregistersAndClosesEveryConnection() throws {
        let bench = try ShardBench()
        bench.work()
        _ = bench.redis.removeNames()
        bench.shard.drain()
        #expect(bench.status.current.isDraining && bench.end == nil)
        bench.loop.advance()
        #expect(bench.redis.waiting.last?.words == ["deregister", "w.0.1"])
        #expect(bench.end == nil, "its answer is awaited")
        bench.serve()
        #expect(bench.end == .drained && bench.isClosed)
        #expect(bench.leases.held.isEmpty)
        bench.shard.drain()
        #expect(bench.heard.messages.count { $0 == "Draining." } == 1)
    }

    @Test func drainWaitsForTheClaimInFlight() throws {
        let bench = try ShardBench()
        bench.work()
        bench.loop.advance(milliseconds: 100)
        #expect(bench.redis.waiting.map(\.name) == ["claim"])
        bench.shard.drain()
        bench.loop.advance(milliseconds: 1_000)
        #expect(!bench.redis.names.contains("deregister") && bench.end == nil)
        bench.serve()
        bench.serve(milliseconds: 5)
        #expect(bench.end == .drained)
    }

    @Test func drainEndsWhenItsTimeIsOver() throws {
        let bench = try ShardBench()
        bench.work()
        bench.loop.advance(milliseconds: 100)
        bench.shard.drain()
        bench.loop.advance(milliseconds: bench.configuration.drainMs)
        #expect(bench.heard.messages.last?.hasPrefix("The drain's time is over") == true)
        #expect(bench.redis.waiting.contains { $0.name == "deregister" })
        bench.serve()
        #expect(bench.end == .timedOut && bench.isClosed)
    }

    @Test(arguments: [true, false]) func drainNeedsNoConnection(_ hasProjects: Bool) throws {
        let bench = try ShardBench(hasProjects ? [.legacy("p")] : [])
        bench.shard.start()
        bench.shard.drain()
        #expect(bench.end == .drained && bench.isClosed)
    }

    @Test func idleWorkerEndsWhenItIsToldTo() throws {
        let bench = try ShardBench(exitWhenIdle: true)
        bench.shard.start()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.end == nil && !bench.status.current.isDraining, "nothing is known of its jobs")
        bench.connect()
        for _ in 0..<20 { bench.serve(milliseconds: 100) }
        #expect(bench.end == .drained)
    }
}
