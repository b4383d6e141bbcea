internal import CurlTransport
internal import EventLoop
internal import FanfareMetrics
internal import FanfareModel
internal import HTTPLanes
internal import Logging

/// Sends one signal over a connection of its own. ``ExportMachine`` decides; this class performs, counts and logs.
/// Loop-confined.
final class SignalExporter {
    private let loop: EventLoop
    private let url: String
    private let headers: [String]
    private let source: any ExportSource
    private let counts: SignalCounts
    private let logger: Logger
    private let lanes: LanePool
    private var machine: ExportMachine
    private var body = OTLPBody(bytes: [], count: 0)
    private var tag: UInt64 = 0
    private var warnings = LogThrottle(seconds: 60)
    private var hasWarned = false

    /// The collector answers within it, or the request has failed.
    static let timeoutMs: Int64 = 10_000

    init(
        loop: EventLoop,
        settings: TelemetrySettings,
        path: String,
        limits: ExportMachine.Limits,
        source: any ExportSource,
        counts: SignalCounts,
        logger: Logger
    ) {
        self.loop = loop
        self.source = source
        self.counts = counts
        self.logger = logger
        url = settings.endpoint + path
        headers = ["Content-Type: application/json"] + settings.headers
        machine = ExportMachine(limits: limits, nowMs: loop.nowMs)
        var origin = OriginConfiguration(caFile: settings.caFile)
        origin.allowsPlainHTTP = true
        origin.maximumLanes = 1
        origin.maximumStreamsPerLane = 1
        origin.maximumBodyBytes = 65_536
        lanes = LanePool(overCurl: origin, loop: loop)
        lanes.onCompletion = { [weak self] _, outcome in self?.completed(outcome) }
    }

    var isDrained: Bool { machine.isDrained(source.backlog) }

    /// Sends what is due. Called many times a second.
    func poll() {
        switch machine.poll(source.backlog, nowMs: loop.nowMs) {
        case .send:
            guard let next = source.next() else { return machine.withdrawn() }
            body = next
            send()
        case .resend: send()
        case nil: break
        }
    }

    func drain() {
        source.drain()
        machine.drain()
        poll()
    }

    /// Counts a request without an answer as failed. The last call.
    func close() {
        if machine.isInFlight || machine.isHolding { counts.failed.add(body.count) }
        lanes.onCompletion = { _, _ in }
        lanes.close()
    }

    private func send() {
        tag += 1
        lanes.send(HTTPRequest(tag: tag, url: url, headers: headers, body: body.bytes, timeoutMs: Self.timeoutMs))
    }

    private func completed(_ outcome: RequestOutcome) {
        let reply = CollectorReply(outcome, nowMs: SystemClock.nowMs)
        switch machine.ended(reply.answer, nowMs: loop.nowMs, jitter: .random(in: 0..<1)) {
        case .exported:
            counts.exported.add(body.count - min(reply.rejected, body.count))
            counts.failed.add(min(reply.rejected, body.count))
            if hasWarned, reply.rejected == 0 { recovered() }
        case .failed: counts.failed.add(body.count)
        case .hold: break
        }
        if let fault = reply.fault { warn(fault) }
        poll()
    }

    private func warn(_ fault: String) {
        guard warnings.admits(now: loop.now) else { return }
        hasWarned = true
        logger.warning(
            "The OTLP collector does not take this worker's telemetry; sends continue. Check telemetry.otlp.",
            metadata: ["signal": "\(source.signal)", "url": "\(url)", "reason": "\(fault)"]
        )
    }

    private func recovered() {
        hasWarned = false
        logger.info("The OTLP collector takes telemetry again.", metadata: ["signal": "\(source.signal)"])
    }
}

/// The counters of one signal.
struct SignalCounts {
    let exported: CounterCell
    let failed: CounterCell
    let dropped: CounterCell

    init(_ registry: MetricRegistry, signal: String) {
        func cell(_ outcome: String) -> CounterCell { registry.counter(MetricCatalogue.telemetry, signal, outcome) }
        (exported, failed, dropped) = (cell("exported"), cell("failed"), cell("dropped"))
    }
}
