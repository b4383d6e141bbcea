internal import CurlTransport
internal import EventLoop
public import FanfareMetrics
public import Logging

/// How a worker ended.
public enum WorkerEnd: Equatable, Sendable {
    /// Everything on the wire was answered and recorded.
    case drained
    /// The drain's time was over first.
    case timedOut
}

/// One worker process: pulls jobs from Redis, sends them, and writes what became of every recipient.
public final class Worker: Sendable {
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let drains = Inbox<Void>()
    private let reloads = Inbox<WorkerConfiguration>()
    private let registry: MetricRegistry
    private let notifier: ServiceNotifier?
    /// The worker's state; readable before ``run()``.
    public let status = WorkerStatus()

    /// - Parameters:
    ///   - registry: of the worker's metrics; by default one of its own.
    ///   - notifier: reports to the service manager that started the process, if it expects reports.
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

    /// Begins no new send, waits for the sends in flight and releases all other batches. Any thread; safe to call twice.
    public func drain() { drains.send(()) }

    /// Takes up the projects of another configuration while the worker runs: opens new ones, drains and closes removed
    /// ones, and drains a changed one before it is opened again. Any other changed setting is named in the log, and
    /// needs a restart. Any thread; without effect once the worker drains.
    public func reload(_ configuration: WorkerConfiguration) { reloads.send(configuration) }

    /// Runs until ``drain()`` was called and has ended, or at once when the worker cannot start.
    ///
    /// - Throws: an error that says what to correct: the Redis address, a credentials file, a key that cannot sign.
    public func run() async throws -> WorkerEnd {
        CurlEnvironment.prepare()
        let leases = LeaseTable(worker: configuration.name, nonce: UInt32.random(in: 0 ... .max))
        for project in configuration.projects { leases.open(project.id) }
        let reports = Inbox<Heartbeat.Report>()
        let heartbeat = try Heartbeat(configuration: configuration, leases: leases, reports: reports)
        // The heartbeat stops last: the leases must hold while the loop drains.
        defer { heartbeat.stop() }
        let thread = Locked<LoopThread?>(nil)
        // The loop has to be gone before the process's exit handlers run.
        defer { thread.withLock { $0 }?.join() }
        return try await withCheckedThrowingContinuation { continuation in
            do {
                let started = try LoopThread(name: "fanfare-loop") { [self] loop in
                    build(on: loop, leases, reports, continuation)
                }
                thread.withLock { $0 = started }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private func build(
        on loop: EventLoop,
        _ leases: LeaseTable,
        _ reports: Inbox<Heartbeat.Report>,
        _ continuation: CheckedContinuation<WorkerEnd, any Error>
    ) {
        do {
            let shard = try WorkerShard(
                loop: loop,
                configuration: configuration,
                leases: leases,
                watch: WorkerWatch(registry: registry, status: status, notifier: notifier),
                logger: logger,
                finished: { continuation.resume(returning: $0) }
            )
            loop.attach(reports) { shard.observed($0) }
            loop.attach(drains) { _ in shard.drain() }
            loop.attach(reloads) { shard.reload($0) }
            shard.start()
        } catch {
            loop.stop()
            continuation.resume(throwing: error)
        }
    }
}
