import EventLoop
import FCMWire
import FanfareConfiguration
import FanfareCore
import FanfareMetrics
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

/// A project that a reload closes, opens again or cannot open.
@Suite struct ReopenedProjectTests {
    private static func push(_ server: RedisServer, _ fields: String...) throws {
        let common = ["message", #"{"data":{"k":"v"}}"#, "token", "t", "results", "all"]
        try server.cli(["XADD", "fanfare:{p}:jobs", "*"] + common + fields)
    }

    // MARK: The drain

    /// With the `safe` profile and no replica, Redis confirms no write: the claim and the hand-over are never answered.
    @Test func drainTimesOutWhileRedisConfirmsNoHandOver() throws {
        let server = try RedisServer()
        defer { server.stop() }
        var settings = Configuration()
        settings.redis.durability = .safe
        let heard = HeardLog()
        try LinkBench.run(server, settings: settings, logger: heard.logger) { bench in
            bench.whenRegistered {
                try? Self.push(server)
                bench.when({ bench.runner?.intake.isIdle == false }) {
                    guard let runner = bench.runner else { return }
                    let transition = ProjectTransition(runner, drainMs: 300) { bench.finish() }
                    transition.start()
                    // Held until its end.
                    bench.when({ bench.link.runners.isEmpty }) { withExtendedLifetime(transition) {} }
                }
            }
        }
        #expect(heard.messages.filter { $0.hasPrefix("A project's drain timed out") }.count == 1)
    }

    // MARK: The next runner

    /// Redis refuses the first two probes; each comparison of the batches repeats them until one succeeds.
    @Test func probeIsRepeatedUntilItSucceeds() throws {
        let server = try RedisServer()
        defer { server.stop() }
        var settings = Configuration()
        (settings.worker.leaseMs, settings.worker.renewMs) = (200, 60)
        let head = "function probe_project(base)\n"
        let refusal = "if redis.call('INCR', base .. 'probes') < 3 then return redis.error_reply('ERR later') end\n"
        let library = String(decoding: FunctionLibrary.source, as: UTF8.self).replacing(head, with: head + refusal)
        try LinkBench.run(server, settings: settings) { bench in
            bench.whenRegistered {
                bench.link.redis.send(RedisCommand("FUNCTION", "LOAD", "REPLACE", library)) { _ in
                    guard bench.reopen() != nil else { return }
                    bench.whenRegistered {
                        // In the place of renewals: a claim ends the rest of a quiet project's lease.
                        bench.loop.every(milliseconds: 20) { bench.leases.hold("p", until: .max) }
                        bench.when(RedisCommand("GET", "fanfare:{p}:probes"), answers: 3) {
                            bench.loop.schedule(afterMilliseconds: 700) { bench.finish() }
                        }
                    }
                }
            }
        }
        #expect(try server.cli("GET", "fanfare:{p}:probes") == "3", "a probe that succeeded is not repeated")
    }

    /// Redis is replaced after a project was opened again, or while it is closed. The results that it may have lost are
    /// written again.
    @Test(arguments: [false, true]) func nextRunnerReplaysTheResultsOfTheOneBefore(whileClosed: Bool) throws {
        let server = try RedisServer()
        defer { server.stop() }
        let replayed = Locked<[String]>([])
        let heard = HeardLog()
        try LinkBench.run(server, logger: heard.logger) { bench in
            @Sendable func replace() {
                server.kill9()
                try? server.restart()
            }
            bench.whenRegistered {
                // An expired job has its result without a send.
                try? Self.push(server, "expires_at", "100000000000", "id", "j")
                bench.when(RedisCommand("XLEN", "fanfare:{p}:results"), answers: 1) {
                    guard let first = bench.runner else { return }
                    bench.when({ first.isWritten }) {
                        bench.link.close(first)
                        guard whileClosed else { return Self.open(bench, replayed, replace: replace) }
                        replace()
                        bench.when({ heard.messages.contains { $0.hasPrefix("Redis was restarted") } }) {
                            Self.open(bench, replayed, replace: {})
                        }
                    }
                }
            }
        }
        #expect(replayed.withLock { $0 } == ["j"])
    }

    private static func open(_ bench: LinkBench, _ replayed: Locked<[String]>, replace: () -> Void) {
        guard let runner = try? bench.link.open(LinkBench.project("p", key: "key-2")) else { return }
        // What it missed is written at once.
        if !runner.writer.isIdle { replayed.withLock { $0.append("j") } }
        let handle = runner.writer.onAnswer
        runner.writer.onAnswer = { event in
            if case .replay(let flush) = event { replayed.withLock { $0.append(flush.source.job) } }
            handle(event)
        }
        replace()
        bench.when({ replayed.withLock { !$0.isEmpty } }) { bench.finish() }
    }

    /// The series of the engine before stays, at 0.
    @Test func gaugeNamesTheEngineOfTheProjectThatRuns() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let registry = MetricRegistry()
        @Sendable func engines() -> [String: String] {
            let lines = PrometheusText.render(registry).split(separator: "\n")
            let found = lines.compactMap {
                $0.wholeMatch(of: /fanfare_project_info\{project="p",transport="legacy",engine="([a-z0-9]+)"\} (\d)/)
            }
            return Dictionary(uniqueKeysWithValues: found.map { (String($0.1), String($0.2)) })
        }
        let seen = Locked<[[String: String]]>([])
        try LinkBench.run(server, registry: registry) { bench in
            bench.whenRegistered {
                seen.withLock { $0.append(engines()) }
                guard let runner = bench.runner else { return bench.finish() }
                bench.link.close(runner)
                var project = LinkBench.project("p")
                project.settings.httpEngine = .nghttp2
                _ = try? bench.link.open(project)
                seen.withLock { $0.append(engines()) }
                bench.finish()
            }
        }
        #expect(seen.withLock { $0 } == [["curl": "1"], ["curl": "0", "nghttp2": "1"]])
        #expect(MetricCatalogue.projectInfo.labels.last?.values == HTTPEngine.allCases.map(\.rawValue))
    }

    // MARK: Projects that cannot be opened

    @Test func projectThatCannotBeOpenedIsTriedAgain() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let account = #"""
            {"type":"service_account","project_id":"q","private_key_id":"k","client_email":"a@b.c",
            "private_key":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "token_uri":"https://localhost:1/token"}
            """#
        let credential = try Credential.parse(Array(account.utf8))
        let heard = HeardLog()
        try runLoop { loop in
            var configuration = Self.configuration(RedisDeployment(server.endpoint), ["p"])
            guard let shard = Self.start(configuration, loop, heard) else { return loop.stop() }
            var broken = WorkerConfiguration.Project(settings: .init(id: "q"))
            broken.credential = credential
            configuration.projects.append(broken)
            shard.reload(configuration)
            func failures() -> Int { heard.messages.count { $0.hasPrefix("A project cannot be opened") } }
            when(loop, { failures() == 2 }) {
                // The same state again changes nothing; the corrected one opens the project at once.
                shard.reload(configuration)
                configuration.projects[1] = LinkBench.project("q")
                shard.reload(configuration)
                loop.schedule(afterMilliseconds: 2_500) { shard.drain() }
            }
        }
        let lines = heard.messages.filter { $0.hasPrefix("A project ") }
        #expect(
            lines == [
                "A project cannot be opened, and is tried again: correct its credential.",
                "A project cannot be opened, and is tried again: correct its credential.", "A project was added.",
            ]
        )
        #expect(try server.cli("HLEN", "fanfare:{q}:leases") == "0", "it was drained with the others")
    }

    // MARK: Shards

    private static func configuration(_ redis: RedisDeployment, _ projects: [String]) -> WorkerConfiguration {
        WorkerConfiguration(
            settings: Configuration(),
            redis: redis,
            projects: projects.map { LinkBench.project($0) },
            name: "w"
        )
    }

    private static func start(
        _ configuration: WorkerConfiguration,
        _ loop: EventLoop,
        _ heard: HeardLog
    ) -> WorkerShard? {
        let shard = try? WorkerShard(
            loop: loop,
            configuration: configuration,
            leases: LeaseTable(worker: "w", nonce: 35),
            watch: WorkerWatch(registry: MetricRegistry(), status: WorkerStatus(), notifier: nil),
            logger: heard.logger,
            finished: { _ in }
        )
        guard let shard else { return nil }
        shard.start()
        // The loop owns its timers, and this one the shard.
        loop.every(milliseconds: 60_000) { withExtendedLifetime(shard) {} }
        return shard
    }

    /// In a cluster a project that is opened again keeps its connections; a removed one's are closed.
    @Test func connectionsOfAClusterLastUntilTheirProjectIsRemoved() throws {
        let cluster = try RedisCluster(primaries: 1)
        defer { cluster.stop() }
        let deployment = try RedisDeployment(url: "redis-cluster://\(cluster.seeds)")
        let heard = HeardLog()
        let connections = Locked(0)
        @Sendable func isLogged(_ message: String, times: Int = 1) -> Bool {
            heard.messages.count { $0 == message } == times
        }
        try runLoop { loop in
            var configuration = Self.configuration(deployment, ["p", "q"])
            guard let shard = Self.start(configuration, loop, heard) else { return loop.stop() }
            when(loop, { isLogged("The worker is connected.", times: 2) }) {
                configuration.projects[1] = LinkBench.project("q", key: "key-2")
                shard.reload(configuration)
                when(loop, { isLogged("A project runs under its new settings.") }) {
                    configuration.projects.removeLast()
                    shard.reload(configuration)
                    when(loop, { isLogged("A project was removed.") }) {
                        loop.schedule(afterMilliseconds: 300) {
                            let clients = (try? cluster.nodes[0].cli("CLIENT", "LIST")) ?? ""
                            let count = clients.ranges(of: "name=fanfare-worker").count
                            connections.withLock { $0 = count }
                            shard.drain()
                        }
                    }
                }
            }
        }
        #expect(connections.withLock { $0 } == 1)
        #expect(isLogged("The worker is connected.", times: 2))
    }
}
