internal import CurlTransport
internal import EventLoop
public import FanfareMetrics
public import Logging

/// Where telemetry goes.
public struct TelemetrySettings: Sendable {
    /// The collector's URL without a slash at its end; `/v1/traces` and `/v1/metrics` are appended.
    public var endpoint: String
    /// Header lines `Name: value`. They may hold a secret, so no message shows them.
    public var headers: [String] = []
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// How often metrics are sent, in milliseconds.
    public var intervalMs: Int64
    public var resource: TelemetryResource
    public var sampler = TraceSampler()

    public init(endpoint: String, intervalMs: Int64, resource: TelemetryResource) {
        (self.endpoint, self.intervalMs, self.resource) = (endpoint, intervalMs, resource)
    }
}

/// Sends the process's spans and metrics to an OTLP collector, as JSON over HTTP.
///
/// It has a thread of its own, so that neither a slow collector nor the encoding delays a send. Spans wait in a bounded
/// queue; beyond it they are dropped and counted.
public final class TelemetryExporter: Sendable {
    /// Spans that may wait for the collector.
    public static let maximumWaitingSpans = 4_096
    /// Spans wait at most this long, in milliseconds, unless the collector fails.
    public static let spanDelayMs: Int64 = 5_000
    /// How long after its first attempt a request with spans is tried again.
    static let holdMs: Int64 = 60_000

    private let settings: TelemetrySettings
    private let registry: MetricRegistry
    private let logger: Logger
    private let queue: SpanQueue
    private let stops = Inbox<Int64>()
    private let thread = Locked<LoopThread?>(nil)

    public init(settings: TelemetrySettings, registry: MetricRegistry, logger: Logger) {
        self.settings = settings
        self.registry = registry
        self.logger = logger
        queue = SpanQueue(
            capacity: Self.maximumWaitingSpans,
            dropped: SignalCounts(registry, signal: "spans").dropped
        )
    }

    /// Records spans for this exporter.
    public var tracer: OTLPTracer { OTLPTracer(queue: queue, sampler: settings.sampler) }

    /// Begins to send.
    ///
    /// - Throws: the system's error if it cannot start a thread.
    public func start() throws {
        CurlEnvironment.prepare()
        let started = try LoopThread(name: "fanfare-otlp") { [self] loop in
            let driver = TelemetryLoop(
                loop: loop,
                settings: settings,
                queue: queue,
                registry: registry,
                logger: logger
            )
            loop.attach(stops) { driver.drain(timeoutMs: $0) }
        }
        thread.withLock { $0 = started }
    }

    /// Sends what is left, ends the thread and waits for it. Safe to call twice.
    ///
    /// - Parameter timeoutMs: after this time the rest is given up and counted as failed.
    public func stop(timeoutMs: Int64 = 2_000) {
        stops.send(timeoutMs)
        thread.withLock { $0 }?.join()
    }
}

/// Runs both signals on the exporter's loop.
final class TelemetryLoop {
    private let loop: EventLoop
    private let signals: [SignalExporter]
    private let queue: SpanQueue
    private let lost: CounterCell
    private var poll: TimerID?
    private var isDraining = false
    private var deadline: UInt64 = .max

    private static let pollMs: Int64 = 100

    init(
        loop: EventLoop,
        settings: TelemetrySettings,
        queue: SpanQueue,
        registry: MetricRegistry,
        logger: Logger
    ) {
        self.loop = loop
        self.queue = queue
        let spans = SignalCounts(registry, signal: "spans")
        lost = spans.failed
        signals = [
            SignalExporter(
                loop: loop,
                settings: settings,
                path: "/v1/traces",
                limits: .init(intervalMs: TelemetryExporter.spanDelayMs, holdMs: TelemetryExporter.holdMs),
                source: SpanSource(queue: queue, resource: settings.resource),
                counts: spans,
                logger: logger
            ),
            SignalExporter(
                loop: loop,
                settings: settings,
                path: "/v1/metrics",
                // The next reading has the same counts and newer ones: an old one is not sent again.
                limits: .init(intervalMs: settings.intervalMs, holdMs: 0),
                source: MetricSource(registry: registry, resource: settings.resource),
                counts: SignalCounts(registry, signal: "metrics"),
                logger: logger
            ),
        ]
        poll = loop.every(milliseconds: Self.pollMs) { [weak self] in self?.turn() }
    }

    func drain(timeoutMs: Int64) {
        guard !isDraining else { return }
        isDraining = true
        deadline = loop.now + UInt64(max(0, timeoutMs)) * 1_000_000
        if let poll { loop.cancel(poll) }
        for signal in signals { signal.drain() }
        awaitDrained()
    }

    private func turn() { for signal in signals { signal.poll() } }

    private func awaitDrained() {
        turn()
        guard signals.allSatisfy(\.isDrained) || loop.now >= deadline else {
            loop.schedule(afterMilliseconds: 5) { self.awaitDrained() }
            return
        }
        for signal in signals { signal.close() }
        lost.add(queue.count)
        loop.stop()
    }
}
