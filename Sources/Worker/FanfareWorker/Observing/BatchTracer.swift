internal import FanfareCore
internal import FanfareModel
internal import StreamWire
internal import Tracing

/// Begins and ends a span for each batch that this worker holds, with the process' tracer; without one it does nothing.
///
/// Names and attributes follow OpenTelemetry's conventions for messaging: the job is the message, and the project's
/// stream of jobs its destination.
struct BatchTracer {
    private let tracer: (any Tracer)?

    /// Uses the tracer that `InstrumentationSystem` has now.
    init() { self.init(InstrumentationSystem.tracer) }

    init(_ tracer: any Tracer) { self.tracer = tracer is NoOpTracer ? nil : tracer }

    var isEnabled: Bool { tracer != nil }

    /// A job that waited for longer gets a trace of its own: the producer's is over.
    private static let maximumParentAgeMs: Int64 = 60_000

    /// - Parameter wallMs: the time of day by Redis' clock, in Unix milliseconds.
    func begin(_ batch: HeldBatch, spec: JobSpec, project: String, keys: ProjectKeys, wallMs: Int64) -> BatchSpan? {
        guard let tracer else { return nil }
        let producer = context(of: spec, tracer)
        let isLink = spec.isSampled && wallMs - spec.pushedMs >= Self.maximumParentAgeMs
        let parent = isLink ? nil : producer
        let span = BatchSpan(tracer, parent ?? .topLevel, batch, spec, project: project, destination: keys.jobs)
        if isLink, let producer { span.link(to: producer) }
        return span
    }

    /// The context that the producer gave the job; nil for none.
    private func context(of spec: JobSpec, _ tracer: any Tracer) -> ServiceContext? {
        guard let traceparent = spec.traceparent else { return nil }
        var context = ServiceContext.topLevel
        var carrier = ["traceparent": traceparent]
        carrier["tracestate"] = spec.tracestate
        tracer.extract(carrier, into: &context, using: FieldExtractor())
        return context
    }

    /// Reads W3C's header names in any case.
    private struct FieldExtractor: Extractor {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    }
}

extension JobSpec {
    /// Whether the producer records its trace. One that it does not record stays the parent at any age, so that the sampler
    /// leaves the span out, too.
    fileprivate var isSampled: Bool {
        guard let flags = traceparent?.utf8.dropFirst(53).prefix(2), flags.count == 2 else { return false }
        return (UInt8(String(decoding: flags, as: UTF8.self), radix: 16) ?? 0) & 1 == 1
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
        project: String,
        destination: String
    ) {
        let operation = "process"
        let span = tracer.startSpan("\(operation) \(destination)", context: context, ofKind: .consumer)
        span.attributes["messaging.system"] = "fanfare"
        span.attributes["messaging.operation.name"] = operation
        span.attributes["messaging.operation.type"] = operation
        span.attributes["messaging.destination.name"] = destination
        // A span is for one message. The conventions leave out `messaging.batch.message_count` there.
        span.attributes["messaging.message.id"] = batch.source.job
        span.attributes["fanfare.project"] = project
        span.attributes["fanfare.job"] = batch.source.job
        span.attributes["fanfare.batch"] = batch.source.batch
        span.attributes["fanfare.epoch"] = batch.source.epoch
        span.attributes["fanfare.recipients"] = batch.count
        span.attributes["fanfare.pass"] = batch.pass.rawValue
        span.attributes["fanfare.operation"] = spec.operation.rawValue
        span.attributes["fanfare.deliveries"] = batch.deliveries
        self.span = span
    }

    fileprivate func link(to context: ServiceContext) { span.addLink(SpanLink(context: context, attributes: [:])) }

    /// - Parameter outcome: anything but `closed` means that another worker continues the batch.
    func end(_ outcome: BatchOutcome) {
        span.attributes["fanfare.outcome"] = outcome.rawValue
        if outcome == .lost {
            span.attributes["error.type"] = outcome.rawValue
            span.setStatus(SpanStatus(code: .error, message: "the batch was taken away from this worker"))
        }
        span.end()
    }
}
