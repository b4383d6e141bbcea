internal import FanfareModel
internal import StreamWire
internal import Tracing

/// Begins and ends a span for each batch that this worker holds, with the process' tracer; without one it does nothing. If
/// the producer gave the job a trace context, the span belongs to that trace.
struct BatchTracer {
    private let tracer: (any Tracer)?

    /// Uses the tracer that `InstrumentationSystem` has now.
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

    /// Reads W3C's header names in any case.
    private struct FieldExtractor: Extractor {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    }
}

/// The span of one batch, from its claim to its end or release. It names no recipient.
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

    /// - Parameter outcome: anything but `closed` means that another worker goes on with the batch.
    func end(_ outcome: ProjectMeters.BatchOutcome) {
        span.attributes["fanfare.outcome"] = outcome.rawValue
        if outcome == .lost {
            span.setStatus(SpanStatus(code: .error, message: "the batch was taken away from this worker"))
        }
        span.end()
    }
}
