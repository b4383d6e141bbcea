import EventLoop
import FanfareConfiguration
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
}
