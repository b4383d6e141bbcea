internal import FanfareCore
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

    var isEnabled: Bool { tracer != nil }

    func begin(_ batch: HeldBatch, spec: JobSpec, project: String) -> BatchSpan? {
        guard let tracer else { return nil }
        var context = ServiceContext.topLevel
        if let traceparent = spec.traceparent {
            var carrier = ["traceparent": traceparent]
            carrier["tracestate"] = spec.tracestate
            tracer.extract(carrier, into: &context, using: FieldExtractor())
        }
        return BatchSpan(tracer, context, batch, spec, project: project)
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
        _ batch: HeldBatch,
        _ spec: JobSpec,
        project: String
    ) {
        let span = tracer.startSpan("fanfare.batch", context: context, ofKind: .consumer)
        span.attributes["messaging.system"] = "fanfare"
        span.attributes["messaging.operation.type"] = "process"
        span.attributes["messaging.batch.message_count"] = batch.count
        span.attributes["fanfare.project"] = project
        span.attributes["fanfare.job"] = batch.source.job
        span.attributes["fanfare.batch"] = batch.source.batch
        span.attributes["fanfare.epoch"] = batch.source.epoch
        span.attributes["fanfare.pass"] = batch.pass.rawValue
        span.attributes["fanfare.operation"] = spec.operation.rawValue
        span.attributes["fanfare.deliveries"] = batch.deliveries
        self.span = span
    }

    /// - Parameter outcome: anything but `closed` means that another worker goes on with the batch.
    func end(_ outcome: BatchOutcome) {
        span.attributes["fanfare.outcome"] = outcome.rawValue
        if outcome == .lost {
            span.setStatus(SpanStatus(code: .error, message: "the batch was taken away from this worker"))
        }
        span.end()
    }
}
