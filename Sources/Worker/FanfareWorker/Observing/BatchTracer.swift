internal import FanfareModel
internal import StreamWire
internal import Tracing

/// Begins and ends the span of each batch that this worker holds, in whatever tracer the process was started with;
/// without one it does nothing. Where the producer gave its job a trace context, the span is that trace's.
struct BatchTracer {
    private let tracer: (any Tracer)?

    /// Takes the tracer that `InstrumentationSystem` has at this moment.
    init() { self.init(InstrumentationSystem.tracer) }

    init(_ tracer: any Tracer) { self.tracer = tracer is NoOpTracer ? nil : tracer }

    /// - Parameter deliveries: how many workers have been given the batch, this one included.
    func begin(_ batch: ActiveBatch, project: String, deliveries: Int) -> BatchSpan? {
        guard let tracer else { return nil }
        let spec = batch.job.spec
        var context = ServiceContext.topLevel
        if let traceparent = spec.traceparent {
            var carrier = ["traceparent": traceparent]
            carrier["tracestate"] = spec.tracestate
            tracer.extract(carrier, into: &context, using: FieldExtractor())
        }
        return BatchSpan(tracer, context, batch, project: project, deliveries: deliveries)
    }

    /// The names are those of W3C's headers, in whatever case a tracer asks for them.
    private struct FieldExtractor: Extractor {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    }
}

/// The span of one batch, from when it was taken until it is let go. No recipient is named in it.
final class BatchSpan {
    private let span: any Span

    fileprivate init(
        _ tracer: some Tracer,
        _ context: ServiceContext,
        _ batch: ActiveBatch,
        project: String,
        deliveries: Int
    ) {
        let span = tracer.startSpan("fanfare.batch", context: context, ofKind: .consumer)
        let spec = batch.job.spec
        span.attributes["messaging.system"] = "fanfare"
        span.attributes["messaging.operation.type"] = "process"
        span.attributes["messaging.batch.message_count"] = batch.count
        span.attributes["fanfare.project"] = project
        span.attributes["fanfare.job"] = batch.job.id
        span.attributes["fanfare.batch"] = batch.batch
        span.attributes["fanfare.epoch"] = batch.epoch
        span.attributes["fanfare.pass"] = batch.pass.rawValue
        span.attributes["fanfare.operation"] = spec.operation.rawValue
        span.attributes["fanfare.deliveries"] = deliveries
        self.span = span
    }

    /// - Parameter outcome: how the worker let go of it; anything but `closed` means that others go on with it.
    func end(_ outcome: ProjectMeters.BatchOutcome) {
        span.attributes["fanfare.outcome"] = outcome.rawValue
        if outcome == .lost {
            span.setStatus(SpanStatus(code: .error, message: "the batch was taken away from this worker"))
        }
        span.end()
    }
}
