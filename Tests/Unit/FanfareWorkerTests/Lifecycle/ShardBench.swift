import FanfareConfiguration
import FanfareMetrics
import RedisTransport
import StreamWire
import TestSupport

@testable import EventLoop
@testable import FanfareWorker

/// A whole worker but its threads, over connections that the test answers, in virtual time.
final class ShardBench {
    private final class Made {
        var connections: [(name: String, connection: FakeConnection)] = []
        var end: WorkerEnd?
    }

    let loop: EventLoop
    let leases = LeaseTable(worker: "w", nonce: 0)
    let heard = HeardLog()
    let status = WorkerStatus()
    let registry = MetricRegistry()
    let configuration: WorkerConfiguration
    let shard: WorkerShard
    private let made: Made

    init(
        _ projects: [WorkerConfiguration.Project] = [.legacy("p")],
        url: String = "redis://localhost:1",
        exitWhenIdle: Bool = false,
        _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        let (loop, made) = (try EventLoop(), Made())
        self.loop = loop
        self.made = made
        var settings = Configuration()
        // Longer than any test: the lease is judged by the machine's clock.
        settings.worker.leaseMs = 600_000
        change(&settings)
        configuration = WorkerConfiguration(
            settings: settings,
            redis: try RedisDeployment(url: url),
            projects: projects,
            name: "w",
            exitWhenIdle: exitWhenIdle
        )
        shard = try WorkerShard(
            loop: loop,
            configuration: configuration,
            leases: leases,
            watch: WorkerWatch(registry: registry, status: status, notifier: nil),
            logger: heard.logger,
            connection: { [made] name in
                let connection = FakeConnection()
                made.connections.append((name, connection))
                return connection
            },
            finished: { [made] in made.end = $0 }
        )
    }

    deinit {
        guard made.end == nil else { return }
        for connection in made.connections { connection.connection.lose() }
        shard.drain()
        loop.advance(milliseconds: configuration.drainMs)
    }

    // MARK: Connections

    /// How the worker ended; nil while it runs.
    var end: WorkerEnd? { made.end }
    /// All connections of a name, in the order in which they were made.
    func connections(_ name: String) -> [FakeConnection] {
        made.connections.filter { $0.name == "fanfare-\(name)" }.map(\.connection)
    }

    /// The first connection for commands.
    var redis: FakeConnection { connections("worker").first ?? FakeConnection() }
    var isClosed: Bool { made.connections.allSatisfy { $0.connection.state == .closed } }

    /// Connects, and answers until every project works.
    func work() {
        shard.start()
        connect()
    }

    /// New connections become ready, and their commands are answered.
    func connect() {
        for (_, connection) in made.connections where connection.hasConnected && connection.state == .connecting {
            connection.becomeReady()
        }
        serve()
    }

    /// Passes the time, and answers all commands at its end, up to the first that `stop` names. A read finds nothing; the
    /// next one follows at once, and waits.
    func serve(milliseconds: Int64 = 0, until stop: String = "") {
        loop.advance(milliseconds: milliseconds)
        for (name, connection) in made.connections {
            if name == "fanfare-reader" || name == "fanfare-sleeper" {
                connection.answer(.null)
            } else {
                connection.serve { $0.name == stop ? nil : $0.usualReply }
            }
        }
    }

    /// Takes up other projects, and changed settings.
    func reload(_ projects: [WorkerConfiguration.Project], _ change: (inout Configuration) -> Void = { _ in }) {
        var settings = configuration.settings
        change(&settings)
        let new = WorkerConfiguration(settings: settings, redis: configuration.redis, projects: projects, name: "w")
        shard.reload(new)
    }

    /// Passes two seconds in small steps, in which a project is drained, closed and opened.
    func settle() {
        for _ in 0..<20 {
            serve(milliseconds: 100)
            connect()
        }
    }
}
