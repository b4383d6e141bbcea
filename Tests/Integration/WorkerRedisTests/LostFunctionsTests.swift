import EventLoop
import FanfareConfiguration
import FanfareMetrics
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

/// Functions that vanish from Redis while a worker runs, such as by `FUNCTION FLUSH`.
@Suite(.serialized) struct LostFunctionsTests {
    private static let waiting = "Redis cannot say yet which batches this worker holds."

    /// The functions vanish before the n-th write of the worker reaches Redis: while it loads them, registers, compares
    /// its batches, or when it holds its lease.
    @Test(.timeLimit(.minutes(1)), arguments: 3...14)
    func workerIsReadyAgainWheneverFunctionsVanish(write number: Int) async throws {
        let server = try RedisServer(port: .plain)
        defer { server.stop() }
        let proxy = try ChaosProxy(upstream: server.port)
        defer { proxy.stop() }
        let writes = Locked(0)
        let isFlushed = Locked(false)
        proxy.beforeForwarding {
            let count = writes.withLock { count in
                count += 1
                return count
            }
            guard count == number else { return }
            _ = try? server.cli("FUNCTION", "FLUSH")
            isFlushed.withLock { $0 = true }
        }
        let heard = HeardLog()
        let endpoint = try RedisEndpoint(url: "redis://127.0.0.1:\(proxy.port)")
        let worker = Worker(
            configuration: WorkerConfiguration(
                settings: Configuration(),
                redis: RedisDeployment(endpoint),
                projects: [LinkBench.project("p")],
                name: "w"
            ),
            logger: heard.logger
        )
        let run = Task { try await worker.run() }
        func isLoaded() throws -> Bool { try server.cli("FUNCTION", "LIST").contains(FunctionLibrary.name) }
        while try !isFlushed.withLock({ $0 }) || !isLoaded() || !worker.status.current.isReady {
            try await Task.sleep(for: .milliseconds(20))
        }
        worker.drain()
        #expect(try await run.value == .drained)
        #expect(heard.messages.count { $0 == Self.waiting } <= 1, "the warning is throttled")
    }

    /// The lease is renewed on a connection of its own, and may be the only caller of a function.
    @Test func heartbeatReportsMissingFunctions() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let leases = LeaseTable(worker: "w", nonce: 0)
        leases.open("p")
        leases.hold("p", until: .max)
        let configuration = WorkerConfiguration(
            settings: Configuration(),
            redis: RedisDeployment(server.endpoint),
            projects: [],
            name: "w"
        )
        let reports = Inbox<Heartbeat.Report>()
        let heartbeat = try Heartbeat(configuration: configuration, leases: leases, reports: reports)
        defer { heartbeat.stop() }
        try runLoop { loop in
            loop.attach(reports) { report in
                if case .functionsMissing = report { loop.stop() }
            }
        }
    }

    /// A user that may not load functions waits for one that may; until then the link says what Redis lacks.
    @Test func linkIsNotLoadedWhileFunctionsAreGone() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let conditions = Locked<[String]>([])
        try LinkBench.run(server) { bench in
            bench.whenRegistered {
                _ = try? server.cli("ACL", "SETUSER", "default", "-function|load")
                _ = try? server.cli("FUNCTION", "FLUSH")
                bench.when({ !bench.link.isLoaded }) {
                    conditions.withLock { $0.append(bench.link.condition) }
                    _ = try? server.cli("ACL", "SETUSER", "default", "+function|load")
                    bench.when({ bench.link.isLoaded && bench.runner?.context.isReady == true }) {
                        conditions.withLock { $0.append(bench.link.condition) }
                        bench.finish()
                    }
                }
            }
        }
        #expect(conditions.withLock { $0 } == ["lacks Fanfare's functions", "connected"])
    }
}
