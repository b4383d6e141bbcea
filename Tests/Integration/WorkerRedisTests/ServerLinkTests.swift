import EventLoop
import FanfareConfiguration
import FanfareCore
import FanfareMetrics
import RedisTransport
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct ServerLinkTests {
    /// The connection is retried many times a second at first; the log shows one line.
    @Test func outageIsLoggedOnce() throws {
        let server = try RedisServer()
        defer { server.stop() }
        server.kill9()
        let heard = HeardLog()
        let tries = Locked(0)
        try runLoop { loop in
            let made = try? ServerLink(
                loop: loop,
                configuration: WorkerConfiguration(
                    settings: Configuration(),
                    redis: RedisDeployment(server.endpoint),
                    projects: [],
                    name: "w"
                ),
                projects: [],
                leases: LeaseTable(worker: "w", nonce: 0),
                quarantine: Quarantine(projects: []),
                registry: MetricRegistry(),
                logger: heard.logger
            )
            guard let link = made else { return loop.stop() }
            link.start()
            let changed = link.redis.onStateChange
            link.redis.onStateChange = { state in
                if case .unavailable = state { tries.withLock { $0 += 1 } }
                changed(state)
            }
            when(loop, { tries.withLock { $0 } >= 3 }) {
                try? server.restart()
                when(loop, { link.isLoaded }) {
                    server.kill9()
                    when(loop, { tries.withLock { $0 } >= 5 }) {
                        link.redis.onStateChange = { _ in }
                        link.reader.stop()
                        link.close()
                        loop.stop()
                    }
                }
            }
        }
        #expect(
            heard.messages == ["Redis is not available.", "The worker is connected.", "Redis is not available."]
        )
    }

    /// Projects that are opened while the server is checked wait for that check.
    @Test func serverIsCheckedOnceForAllProjects() throws {
        let server = try RedisServer()
        defer { server.stop() }
        try server.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        let heard = HeardLog()
        let refusal = "Redis cannot be used with its present configuration, so no job is taken."
        try LinkBench.run(server, logger: heard.logger) { bench in
            bench.when({ heard.messages.contains(refusal) }) {
                for id in ["q", "r"] { _ = try? bench.link.open(LinkBench.project(id)) }
                bench.loop.schedule(afterMilliseconds: 500) {
                    _ = try? server.cli("CONFIG", "SET", "maxmemory-policy", "noeviction")
                }
                bench.when({ bench.link.runners.allSatisfy(\.session.isRegistered) }) {
                    bench.loop.schedule(afterMilliseconds: 300) { bench.finish() }
                }
            }
        }
        #expect(heard.messages.count { $0 == refusal } == 1)
        #expect(heard.messages.count { $0 == "The worker is connected." } == 1)
    }

    /// The name is declared dead while its registration is unanswered.
    @Test func answerToARegistrationIsForItsNameOnly() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let held = Locked<[String]>([])
        try LinkBench.run(server) { bench in
            bench.whenRegistered {
                for _ in 0..<2 {
                    bench.runner?.session.declaredDead(bench.leases.lease(in: "p").name)
                }
                bench.whenRegistered {
                    held.withLock { $0 = bench.leases.held.map(\.name) }
                    bench.finish()
                }
            }
        }
        #expect(held.withLock { $0 } == ["w.z.3"])
        #expect(try server.cli("HKEYS", "fanfare:{p}:leases").split(separator: "\n").contains("w.z.3"))
    }
}
