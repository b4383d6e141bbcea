internal import EventLoop
public import Tracing

/// Records spans for a ``TelemetryExporter``. A span of a trace that its sampler leaves out is not recorded.
public struct OTLPTracer: Tracer {
    private let queue: SpanQueue
    private let sampler: TraceSampler

    init(queue: SpanQueue, sampler: TraceSampler = TraceSampler()) { (self.queue, self.sampler) = (queue, sampler) }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> OTLPSpan {
        let context = context()
        let parent = context.trace
        let trace = parent?.trace ?? .random()
        let own = TraceContext(
            trace: trace,
            span: .random(in: 1 ... .max),
            isSampled: sampler.records(trace, parent: parent),
            state: parent?.state ?? ""
        )
        let record = SpanRecord(
            context: own,
            parent: parent,
            name: operationName,
            kind: kind,
            startNs: instant().nanosecondsSinceEpoch
        )
        return OTLPSpan(record, context: context, queue: queue)
    }

    /// Does nothing: the exporter sends by its own clock.
    public func forceFlush() {}

    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let state = extractor.extract(key: "tracestate", from: carrier)
        if let trace = TraceContext(traceparent: parent, tracestate: state) { context.trace = trace }
    }

    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
        if !trace.state.isEmpty { injector.inject(trace.state, forKey: "tracestate", into: &carrier) }
    }
}

/// One span. Any thread may change it until it ends; then it goes into the exporter's queue.
public final class OTLPSpan: Tracing.Span {
    public let context: ServiceContext
    private let record: Locked<SpanRecord>
    private let queue: SpanQueue

    init(_ record: SpanRecord, context: ServiceContext, queue: SpanQueue) {
        var context = context
        context.trace = record.context
        self.context = context
        self.queue = queue
        self.record = Locked(record)
    }

    public var operationName: String {
        get { record.withLock { $0.name } }
        set { change { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { record.withLock { $0.attributes } }
        set { change { $0.attributes = newValue } }
    }

    public var isRecording: Bool { record.withLock { $0.isOpen } }

    public func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    public func addEvent(_ event: SpanEvent) {
        change { record in
            if record.events.count < SpanRecord.maximumEvents {
                record.events.append(event)
            } else {
                record.lostEvents += 1
            }
        }
    }

    public func addLink(_ link: SpanLink) {
        guard let trace = link.context.trace else { return }
        change { record in
            guard record.links.count < SpanRecord.maximumLinks else { return record.lostLinks += 1 }
            record.links.append((trace, link.attributes))
        }
    }

    /// Adds an event with the type of the error. Its text is left out: it may hold what must not leave the process.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = String(describing: type(of: error))
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Ends the span. A second call does nothing.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let endNs = instant().nanosecondsSinceEpoch
        let ended = record.withLock { record -> SpanRecord? in
            guard record.isOpen else { return nil }
            record.endNs = max(endNs, record.startNs)
            return record
        }
        if let ended { queue.append(ended) }
    }

    private func change(_ body: (inout SpanRecord) -> Void) {
        record.withLock { if $0.isOpen { body(&$0) } }
    }
}

/// The content of a span.
struct SpanRecord: Sendable {
    static let maximumAttributes = 64
    static let maximumEvents = 16
    static let maximumLinks = 16

    let context: TraceContext
    /// The span that it belongs to; nil if it begins a trace.
    let parent: TraceContext?
    var name: String
    let kind: SpanKind
    /// Unix nanoseconds.
    let startNs: UInt64
    /// As ``startNs``; nil until the span ends.
    var endNs: UInt64?
    var attributes = SpanAttributes()
    var status: SpanStatus?
    var events: [SpanEvent] = []
    var lostEvents = 0
    var links: [(context: TraceContext, attributes: SpanAttributes)] = []
    var lostLinks = 0

    init(context: TraceContext, parent: TraceContext?, name: String, kind: SpanKind, startNs: UInt64) {
        (self.context, self.parent, self.name, self.kind, self.startNs) = (context, parent, name, kind, startNs)
    }

    /// Whether it records changes: it has not ended, and the trace is sampled.
    var isOpen: Bool { endNs == nil && context.isSampled }
}
