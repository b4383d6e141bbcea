import EventLoop
import OpenSSLKit
import RedisTransport
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct ServerLinkTests {
    /// It is tried again many times a second at first; that is not for people.
    @Test func outageIsLoggedOnce() throws {
        let server = try RedisServer()
        defer { server.stop() }
        server.kill9()
        let heard = HeardLog()
        let tries = Locked(0)
        try runLoop { loop in
            let link = ServerLink(
                loop: loop,
                configuration: WorkerConfiguration(redis: RedisDeployment(server.endpoint), projects: [], name: "w"),
                tls: TLSOptions(),
                key: nil,
                logger: heard.logger,
                runners: { _ in [] }
            )
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
