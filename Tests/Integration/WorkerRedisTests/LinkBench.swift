import EventLoop
import FanfareConfiguration
import FanfareMetrics
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

/// A started link to a real server, and the leases of its worker `w`, whose first name is `w.z.1`.
struct LinkBench {
    let loop: EventLoop
    let link: ServerLink
    let leases: LeaseTable

    var runner: ProjectRunner? { link.runners.first }

    /// A project that sends by a legacy server key, to an endpoint where nothing listens.
    static func project(_ id: String, key: String = "key-1") -> WorkerConfiguration.Project {
        var project = WorkerConfiguration.Project(settings: .init(id: id), serverKey: key)
        project.settings.transport = .legacy
        project.settings.endpoint = "https://localhost:1"
        return project
    }

    /// Runs `body` on a loop until ``finish()``.
    static func run(
        _ server: RedisServer,
        settings: Configuration = Configuration(),
        registry: MetricRegistry = MetricRegistry(),
        logger: Logger = Logger(label: "test"),
        _ body: @escaping @Sendable (LinkBench) -> Void
    ) throws {
        try runLoop { loop in
            let leases = LeaseTable(worker: "w", nonce: 35)
            let link = try? ServerLink(
                loop: loop,
                configuration: WorkerConfiguration(
                    settings: settings,
                    redis: RedisDeployment(server.endpoint),
                    projects: [],
                    name: "w"
                ),
                projects: [project("p")],
                leases: leases,
                quarantine: Quarantine(projects: ["p"]),
                registry: registry,
                logger: logger
            )
            guard let link else { return loop.stop() }
            link.start()
            body(LinkBench(loop: loop, link: link, leases: leases))
        }
    }

    func when(_ condition: @escaping () -> Bool, _ body: @escaping () -> Void) {
        WorkerRedisTests.when(loop, condition, body)
    }

    /// Repeats a command until its answer is `number`.
    func when(_ command: RedisCommand, answers number: Int64, _ body: @escaping () -> Void) {
        link.redis.send(command) { result in
            let value = try? result.get()
            if (value?.integer ?? value?.string.flatMap { Int64($0) }) == number { return body() }
            loop.schedule(afterMilliseconds: 5) { when(command, answers: number, body) }
        }
    }

    func whenRegistered(_ body: @escaping () -> Void) { when({ runner?.session.isRegistered == true }, body) }

    /// Closes the project and opens it under another key.
    func reopen() -> ProjectRunner? {
        guard let runner else { return nil }
        link.close(runner)
        return try? link.open(Self.project("p", key: "key-2"))
    }

    func finish() {
        link.redis.onStateChange = { _ in }
        for runner in link.runners { link.close(runner) }
        link.reader.stop()
        link.close()
        loop.stop()
    }
}

/// Calls `body` on the loop once `condition` holds, which is checked every few milliseconds.
func when(_ loop: EventLoop, _ condition: @escaping () -> Bool, _ body: @escaping () -> Void) {
    loop.schedule(afterMilliseconds: 5) { condition() ? body() : when(loop, condition, body) }
}
