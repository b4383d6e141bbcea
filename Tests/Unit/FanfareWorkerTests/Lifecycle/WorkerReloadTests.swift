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

/// Other projects and settings while a worker runs.
@Suite struct WorkerReloadTests {
    private static func working(
        _ projects: [WorkerConfiguration.Project] = [.legacy("p")],
        url: String = "redis://localhost:1"
    ) throws -> ShardBench {
        let bench = try ShardBench(projects, url: url)
        bench.work()
        return bench
    }

    private func projects(_ bench: ShardBench) -> [String] { bench.status.current.projects.map(\.id) }

    @Test func equalConfigurationChangesNothing() throws {
        let bench = try Self.working()
        _ = bench.redis.removeNames()
        bench.reload([.legacy("p")])
        #expect(bench.heard.messages.last == "The configuration was read again: no project has changed.")
        #expect(bench.redis.names == [] && bench.connections("register").count == 1)
    }

    @Test func settingOfTheWorkerNeedsARestart() throws {
        let bench = try Self.working()
        bench.reload([.legacy("p")]) { $0.worker.drainMs += 1 }
        let line = try #require(bench.heard.messages.firstIndex { $0.hasPrefix("Changed settings keep") })
        #expect(bench.heard.metadata[line] == ["settings": "worker"])
    }

    @Test func addedProjectIsServedOnTheConnection() throws {
        let bench = try Self.working()
        _ = bench.redis.removeNames()
        bench.reload([.legacy("p"), .legacy("q")])
        #expect(bench.redis.removeNames().prefix(4) == ["check", "XGROUP", "reconcile", "register"])
        bench.settle()
        #expect(bench.leases.held.map(\.project).sorted() == ["p", "q"])
        #expect(projects(bench) == ["p", "q"])
        #expect(bench.heard.messages.contains("A project was added."))
        let register = bench.connections("register")
        #expect(register.count == 2 && register.allSatisfy { $0.state == .closed }, "both have done their work")
    }

    /// Its first connection is being made, and brings it to work.
    @Test func projectMayBeAddedBeforeTheConnection() throws {
        let bench = try ShardBench()
        bench.shard.start()
        bench.reload([.legacy("p"), .legacy("q")])
        bench.connect()
        bench.settle()
        #expect(bench.leases.held.map(\.project).sorted() == ["p", "q"])
    }

    @Test func removedProjectIsDrainedAndClosed() throws {
        let bench = try Self.working([.legacy("p"), .legacy("q")])
        bench.reload([.legacy("p")])
        #expect(bench.leases.projects == ["p", "q"], "it is drained first")
        bench.settle()
        #expect(bench.leases.projects == ["p"] && projects(bench) == ["p"])
        #expect(bench.heard.messages.count { $0 == "A project was removed." } == 1)
        #expect(bench.heard.metadata.contains(["removed": "q"]))
    }

    @Test func projectWithAnotherKeyIsOpenedAgain() throws {
        let bench = try Self.working()
        bench.reload([.legacy("p", key: "key-2")])
        bench.settle()
        #expect(bench.heard.messages.contains("A project runs under its new settings."))
        #expect(bench.redis.names.contains("probe_project"), "the block of its old key is not its own")
        #expect(bench.leases.held.count == 1)
        #expect(!bench.leases.held.contains { $0.name == "w.0.1" }, "batches of its old name are others'")
        #expect(projects(bench) == ["p"])
    }

    @Test func newQuotaNeedsNoDrain() throws {
        let bench = try Self.working()
        var project = WorkerConfiguration.Project.legacy("p")
        project.settings.quotaPerMinute = 777
        bench.reload([project])
        bench.loop.advance(milliseconds: 1)
        #expect(bench.redis.waiting.first { $0.name == "claim" }?.words.contains("777") == true)
        bench.settle()
        #expect(bench.leases.held.map(\.name) == ["w.0.1"])
    }

    /// The end of the drain finds the state that is wanted by then.
    @Test func projectThatIsRemovedAndAddedAgainComesBack() throws {
        let bench = try Self.working([.legacy("p"), .legacy("q")])
        bench.reload([.legacy("p")])
        bench.reload([.legacy("p"), .legacy("q")])
        bench.settle()
        #expect(projects(bench) == ["p", "q"])
        #expect(bench.leases.held.map(\.project).sorted() == ["p", "q"])
        #expect(!bench.heard.messages.contains("A project was removed."))
    }

    @Test func drainingWorkerTakesUpNothing() throws {
        let bench = try Self.working()
        bench.loop.advance(milliseconds: 100)
        bench.shard.drain()
        let count = bench.heard.messages.count
        bench.reload([.legacy("p"), .legacy("q")])
        #expect(bench.heard.messages.count == count && bench.leases.projects == ["p"])
    }

    // MARK: A credential that cannot be used

    /// A service account whose key cannot sign.
    private static func unusable(_ id: String) throws -> WorkerConfiguration.Project {
        let file = """
            {"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\nno key\\n",
            "project_id":"p","client_email":"c","token_uri":"https://localhost:1/token"}
            """
        return .init(settings: .init(id: id), credential: try Credential.parse(Array(file.utf8)))
    }

    @Test func projectThatCannotBeOpenedIsTriedAgain() throws {
        let bench = try Self.working()
        bench.reload([.legacy("p"), try Self.unusable("q")])
        func failures() -> [String] {
            zip(bench.heard.messages, bench.heard.metadata).filter { $0.0.hasPrefix("A project cannot be opened") }
                .map { "\($0.1["again_in_ms"] ?? "")" }
        }
        #expect(failures() == ["1000"])
        bench.loop.advance(milliseconds: 999)
        #expect(failures() == ["1000"])
        bench.loop.advance(milliseconds: 1)
        #expect(failures() == ["1000", "2000"])
        bench.reload([.legacy("p"), .legacy("q")])
        #expect(bench.heard.messages.last == "A project was added.", "the correction is taken up at once")
        bench.settle()
        #expect(bench.leases.held.map(\.project).sorted() == ["p", "q"])
        bench.loop.advance(milliseconds: 60_000)
        #expect(failures().count == 2)
    }

    @Test func workerDoesNotStartWithACredentialThatCannotBeUsed() throws {
        let unusable = try Self.unusable("q")
        #expect(throws: (any Error).self) { try ShardBench([unusable]) }
    }

    // MARK: A cluster

    @Test func projectOfAClusterComesAndGoesWithItsConnections() throws {
        let bench = try Self.working(url: "redis-cluster://localhost:1")
        bench.reload([.legacy("q")])
        bench.settle()
        #expect(bench.leases.held.map(\.project) == ["q"] && projects(bench) == ["q"])
        for name in ["worker", "reader"] {
            #expect(bench.connections(name).map(\.state) == [.closed, .ready])
        }
    }

    @Test func reopenedProjectOfAClusterKeepsItsConnections() throws {
        let bench = try Self.working(url: "redis-cluster://localhost:1")
        bench.reload([.legacy("p", key: "key-2")])
        bench.settle()
        #expect(bench.leases.held.count == 1 && bench.connections("worker").count == 1)
    }
}
