internal import FanfareMetrics
internal import Tracing

/// What one signal has to send.
protocol ExportSource: AnyObject {
    /// The name of the signal in logs.
    var signal: String { get }
    var backlog: ExportMachine.Backlog { get }
    /// Builds the next request from the backlog; nil if there is nothing to send.
    func next() -> OTLPBody?
    /// The worker drains: prepares what has to go out at the end.
    func drain()
}

/// The body of a request, and how many spans or points it holds.
struct OTLPBody: Equatable, Sendable {
    var bytes: [UInt8]
    var count: Int
}

/// The spans of the queue, oldest first.
final class SpanSource: ExportSource {
    private let queue: SpanQueue
    private let resource: TelemetryResource

    /// Spans of one request.
    static let batch = 512
    static let maximumBytes = 512 * 1_024

    init(queue: SpanQueue, resource: TelemetryResource) {
        self.queue = queue
        self.resource = resource
    }

    let signal = "spans"

    var backlog: ExportMachine.Backlog {
        let count = queue.count
        return count >= Self.batch ? .full : count > 0 ? .some : .none
    }

    func next() -> OTLPBody? {
        let spans = queue.first(Self.batch)
        guard !spans.isEmpty else { return nil }
        let body = OTLPSpans.body(spans, resource: resource, maximumBytes: Self.maximumBytes)
        queue.removeFirst(body.count)
        return body
    }

    func drain() {}
}

/// The registry's metrics. When an interval is over, a round of bodies sends each metric once. Each body is read when
/// it is sent, so the one after a failure is not out of date.
final class MetricSource: ExportSource {
    private let registry: MetricRegistry
    private let resource: TelemetryResource
    private let startNs: UInt64
    /// The names of the metrics that this round has sent; empty between two rounds.
    private var sent: Set<String> = []
    private var isDraining = false
    private var hasReadLast = false
    private let maximumBytes: Int

    /// - Parameter maximumBytes: of one body.
    init(registry: MetricRegistry, resource: TelemetryResource, maximumBytes: Int = 512 * 1_024) {
        self.registry = registry
        self.resource = resource
        self.maximumBytes = maximumBytes
        startNs = DefaultTracerClock.now.nanosecondsSinceEpoch
    }

    let signal = "metrics"

    var backlog: ExportMachine.Backlog {
        if !sent.isEmpty { return .full }
        return hasReadLast ? .none : .some
    }

    func next() -> OTLPBody? {
        let families = registry.read().filter { !sent.contains($0.name) }
        let period = OTLPMetrics.Period(startNs: startNs, nowNs: DefaultTracerClock.now.nanosecondsSinceEpoch)
        let next = OTLPMetrics.body(families, period, resource: resource, maximumBytes: maximumBytes)
        sent.formUnion(families.prefix(next.families).map(\.name))
        if next.families == families.count {
            sent = []
            hasReadLast = isDraining
        }
        return families.isEmpty ? nil : next.body
    }

    func drain() {
        sent = []
        isDraining = true
    }
}
