import FanfareConfiguration
import FanfareMetrics
import RedisTransport
import StreamWire
import TestSupport

@testable import EventLoop
@testable import FanfareWorker

/// A link over two connections that the test answers, in virtual time: the life of a session with Redis.
final class SessionBench {
    let loop: EventLoop
    let redis: FakeConnection
    let reads: FakeConnection
    let leases = LeaseTable(worker: "w", nonce: 0)
    let heard = HeardLog()
    let link: ServerLink
    /// `INFO`'s answer.
    var info = "run_id:first\r\nmaxmemory_policy:noeviction\r\n"

    var runner: ProjectRunner { link.runners[0] }

    init(projects: [String] = ["p"], url: String = "redis://localhost:1") throws {
        let loop = try EventLoop()
        let connections = ["fanfare-worker": FakeConnection(), "fanfare-reader": FakeConnection()]
        self.loop = loop
        redis = connections["fanfare-worker"] ?? FakeConnection()
        reads = connections["fanfare-reader"] ?? FakeConnection()
        var settings = Configuration()
        // Longer than any test: the lease is judged by the machine's clock.
        settings.worker.leaseMs = 600_000
        link = try ServerLink(
            loop: loop,
            configuration: WorkerConfiguration(
                settings: settings,
                redis: try RedisDeployment(url: url),
                projects: [],
                name: "w"
            ),
            projects: projects.map { .legacy($0) },
            leases: leases,
            quarantine: Quarantine(projects: projects),
            registry: MetricRegistry(),
            logger: heard.logger,
            connection: { connections[$0] ?? FakeConnection() }
        )
    }

    deinit { for runner in link.runners { runner.close() } }

    private func reply(to command: FakeConnection.Sent) -> RedisValue {
        switch command.name {
        case "INFO": .text(info)
        // Such an answer is repeated after a pause, as an empty one is.
        case "claim": .text("no work")
        default: command.usualReply
        }
    }

    /// Answers all commands in flight, up to the first that `stop` names.
    func serve(until stop: String = "") {
        loop.advance()
        redis.serve { $0.name == stop ? nil : reply(to: $0) }
    }

    /// Connects, and answers until the project works.
    func work() {
        link.start()
        redis.becomeReady()
        serve()
    }

    /// The names of the commands so far, in their order.
    func sent() -> [String] {
        loop.advance()
        return redis.removeNames()
    }
}
