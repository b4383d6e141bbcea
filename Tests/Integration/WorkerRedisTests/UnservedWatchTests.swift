import EventLoop
import FanfareConfiguration
import Logging
import RedisTransport
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct UnservedWatchTests {
    /// Each worker sees the project at another time, and says the same.
    @Test func warningSaysSinceWhenTheOldestJobWaits() throws {
        let server = try RedisServer()
        defer { server.stop() }
        try server.cli("XADD", "fanfare:{q}:jobs", "1700000000000-0", "token", "a")
        try server.cli("SADD", "fanfare:projects", "q")
        let heard = HeardLog()
        let configuration = WorkerConfiguration(
            settings: Configuration(),
            redis: RedisDeployment(server.endpoint),
            projects: [],
            name: "w"
        )
        try LinkBench.run(server) { bench in
            bench.whenRegistered {
                let watch = UnservedWatch(
                    loop: bench.loop,
                    redis: bench.link.redis,
                    configuration: configuration,
                    logger: heard.logger
                )
                watch.own = ["p"]
                func check() {
                    guard heard.messages.isEmpty else { return bench.finish() }
                    watch.check()
                    bench.loop.schedule(afterMilliseconds: 250) { check() }
                }
                check()
            }
        }
        #expect(heard.messages.first?.hasPrefix("A project has jobs and no worker") == true)
        let since = heard.metadata.first?["since"].map { "\($0)" } ?? ""
        // Two calls of Redis, a few milliseconds apart.
        #expect(since.hasPrefix("2023-11-14T22:13:"), "\(since)")
    }
}
