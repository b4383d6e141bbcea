import Synchronization
import Tracing

/// A tracer that records its spans, and reads W3C's `traceparent` as real ones do.
final class TestTracer: Tracer {
    struct Record {
        var name: String
        var kind: SpanKind
        /// Of the span's parent; nil when it begins a trace.
        var trace: String?
        var parent: String?
        var state: String?
        var attributes = SpanAttributes()
        var status: SpanStatus?
        var ends = 0
        /// The trace of each link.
        var links: [String] = []
    }

    enum ParentKey: ServiceContextKey {
        typealias Value = [String]
        static var nameOverride: String? { "parent" }
    }

    final class TestSpan: Tracing.Span {
        private let record: Mutex<Record>
        let context: ServiceContext

        init(_ record: Record, _ context: ServiceContext) {
            self.record = Mutex(record)
            self.context = context
        }

        var seen: Record { record.withLock { $0 } }
        var operationName: String {
            get { seen.name }
            set { record.withLock { $0.name = newValue } }
        }
        var attributes: SpanAttributes {
            get { seen.attributes }
            set { record.withLock { $0.attributes = newValue } }
        }
        var isRecording: Bool { seen.ends == 0 }
        func setStatus(_ status: SpanStatus) { record.withLock { $0.status = status } }
        func addEvent(_ event: SpanEvent) {}
        func recordError<Instant: TracerInstant>(
            _ error: any Error,
            attributes: SpanAttributes,
            at instant: @autoclosure () -> Instant
        ) {}
        func addLink(_ link: SpanLink) {
            record.withLock { $0.links += (link.context[ParentKey.self]?.first).map { [$0] } ?? [] }
        }
        func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { record.withLock { $0.ends += 1 } }
    }

    private let all = Mutex<[TestSpan]>([])
    var spans: [Record] { all.withLock { $0 }.map(\.seen) }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> TestSpan {
        let context = context()
        let parent = context[ParentKey.self] ?? []
        var record = Record(name: operationName, kind: kind)
        if parent.count == 3 { (record.trace, record.parent, record.state) = (parent[0], parent[1], parent[2]) }
        let span = TestSpan(record, context)
        all.withLock { $0.append(span) }
        return span
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = (extractor.extract(key: "Traceparent", from: carrier) ?? "").split(separator: "-").map(String.init)
        guard parts.count == 4 else { return }
        context[ParentKey.self] = [parts[1], parts[2], extractor.extract(key: "tracestate", from: carrier) ?? ""]
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {}
}
