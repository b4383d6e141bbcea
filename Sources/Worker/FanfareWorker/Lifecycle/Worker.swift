internal import CurlTransport
internal import EventLoop
public import FanfareMetrics
public import Logging
internal import OpenSSLKit
internal import RedisTransport

/// How a worker ended.
public enum WorkerEnd: Equatable, Sendable {
    /// Everything on the wire was answered and recorded.
    case drained
    /// The drain's time was over first.
    case timedOut
    /// It could not start.
    case failed(String)
}

/// One worker process: pulls jobs from Redis, sends them, and writes what became of every recipient.
public final class Worker: Sendable {
    private enum Order: Sendable { case drain }

    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let orders = Inbox<Order>()
    private let registry: MetricRegistry
    private let notifier: ServiceNotifier?
    /// How it fares; of use as soon as the worker is there.
    public let status = WorkerStatus()

    /// - Parameters:
    ///   - registry: where the worker counts; one of nobody else's when left out.
    ///   - notifier: the service manager that started the process, if it wants to know.
    public init(
        configuration: WorkerConfiguration,
        logger: Logger,
        registry: MetricRegistry = MetricRegistry(),
        notifier: ServiceNotifier? = nil
    ) {
        self.configuration = configuration
        self.logger = logger
        self.registry = registry
        self.notifier = notifier
    }

    /// Begins nothing new, waits for what is on the wire, gives the rest back. Any thread; safe to call twice.
    public func drain() { orders.send(.drain) }

    /// Runs until ``drain()`` was called and has ended, or at once when the worker cannot start.
    ///
    /// - Throws: an error that says what to correct: the Redis address, a credentials file, a key that cannot sign.
    public func run() async throws -> WorkerEnd {
        CurlEnvironment.prepare()
        let tls = TLSOptions(
            caFile: configuration.caFile,
            certFile: configuration.redisCertificateFile,
            keyFile: configuration.redisKeyFile
        )
        let leases = LeaseTable(worker: configuration.name, nonce: UInt32.random(in: 0 ... .max))
        let reports = Inbox<Heartbeat.Report>()
        let heartbeat = try Heartbeat(
            tls: tls,
            configuration: configuration,
            leases: leases,
            reports: reports
        )
        // The heartbeat stops last: while the loop drains, what it holds must stay its own.
        defer { heartbeat.stop() }
        let thread = Locked<LoopThread?>(nil)
        // The loop has to be gone before the process's exit handlers run.
        defer { thread.withLock { $0 }?.join() }
        return try await withCheckedThrowingContinuation { continuation in
            do {
                let started = try LoopThread(name: "fanfare-loop") { [self] loop in
                    build(on: loop, tls, leases, reports, continuation)
                }
                thread.withLock { $0 = started }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private func build(
        on loop: EventLoop,
        _ tls: TLSOptions,
        _ leases: LeaseTable,
        _ reports: Inbox<Heartbeat.Report>,
        _ continuation: CheckedContinuation<WorkerEnd, any Error>
    ) {
        do {
            let shard = try WorkerShard(
                loop: loop,
                tls: tls,
                configuration: configuration,
                leases: leases,
                watch: WorkerWatch(registry: registry, status: status, notifier: notifier),
                logger: logger,
                finished: { continuation.resume(returning: $0) }
            )
            loop.attach(reports) { shard.observed($0) }
            loop.attach(orders) { _ in shard.drain() }
            shard.start()
        } catch {
            loop.stop()
            continuation.resume(throwing: error)
        }
    }
}
