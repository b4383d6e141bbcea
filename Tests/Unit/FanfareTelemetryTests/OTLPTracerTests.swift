import FanfareJSON
import FanfareMetrics
import Testing
import Tracing

@testable import FanfareTelemetry

@Suite struct OTLPTracerTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
    private static let resource = TelemetryResource(instance: "w1", version: "0.1", prefix: "fanfare")
    private let dropped = CounterCell()

    private struct Fields: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    private func queue(_ capacity: Int = 4) -> SpanQueue { SpanQueue(capacity: capacity, dropped: dropped) }

    private func context(_ tracer: OTLPTracer, flags: Int = 1) -> ServiceContext {
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": Self.parent + "\(flags)", "tracestate": "v=1"], into: &context, using: Fields())
        return context
    }

    private struct Instant: TracerInstant {
        var nanosecondsSinceEpoch: UInt64
        static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch }
    }

    private func start(_ tracer: OTLPTracer, _ context: ServiceContext = .topLevel) -> OTLPSpan {
        tracer.startSpan("work", context: context, ofKind: .consumer, at: Instant(nanosecondsSinceEpoch: 5))
    }

    @Test func endedSpanHasTheProducersTraceAndEveryField() throws {
        let queue = queue()
        let tracer = OTLPTracer(queue: queue)
        let span = start(tracer, context(tracer))
        span.attributes["n"] = 7
        span.attributes["texts"] = ["a", "b"]
        span.addEvent(SpanEvent(name: "e", at: Instant(nanosecondsSinceEpoch: 6)))
        span.addLink(SpanLink(context: context(tracer), attributes: ["l": true]))
        span.setStatus(SpanStatus(code: .error, message: "lost"))
        #expect(queue.count == 0 && span.isRecording)
        span.end(at: Instant(nanosecondsSinceEpoch: 9))
        span.end(at: Instant(nanosecondsSinceEpoch: 10))
        span.attributes["late"] = 1
        #expect(queue.count == 1 && !span.isRecording)

        let record = try #require(queue.first(10).first)
        let text = OTLPSpans.json(record).jsonText
        let id = TraceContext.hex(record.context.span)
        #expect(
            text
                == #"{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"\#(id)","parentSpanId":"00f067aa0ba902b7","#
                + #""traceState":"v=1","flags":769,"name":"work","kind":5,"startTimeUnixNano":"5","endTimeUnixNano":"9","#
                + #""attributes":[{"key":"n","value":{"intValue":"7"}},{"key":"texts","value":{"arrayValue":{"values":["#
                + #"{"stringValue":"a"},{"stringValue":"b"}]}}}],"events":[{"timeUnixNano":"6","name":"e"}],"#
                + #""links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","traceState":"v=1","#
                + #""flags":769,"attributes":[{"key":"l","value":{"boolValue":true}}]}],"status":{"code":2,"message":"lost"}}"#
                || Self.isReordered(text)
        )
    }

    /// Attributes come from a dictionary, in any order.
    private static func isReordered(_ text: String) -> Bool {
        text.contains(
            #"{"key":"texts","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},{"key":"n""#
        )
            && text.hasSuffix(#""status":{"code":2,"message":"lost"}}"#)
    }

    @Test func spanWithoutAParentBeginsATrace() throws {
        let queue = queue()
        start(OTLPTracer(queue: queue)).end(at: Instant(nanosecondsSinceEpoch: 4))
        let record = try #require(queue.first(1).first)
        #expect(record.parent == nil && record.endNs == 5, "a clock that was set back makes no negative duration")
        let text = OTLPSpans.json(record).jsonText
        #expect(!text.contains("parentSpanId") && text.contains(#""flags":257"#))
    }

    @Test func parentAndLinkOfThisProcessAreNotRemote() throws {
        let queue = queue()
        let tracer = OTLPTracer(queue: queue)
        let outer = start(tracer, context(tracer))
        let inner = start(tracer, outer.context)
        inner.addLink(SpanLink(context: outer.context, attributes: [:]))
        for span in [inner, outer] { span.end(at: Instant(nanosecondsSinceEpoch: 9)) }
        let texts = queue.first(2).map { OTLPSpans.json($0).jsonText }
        // 0x101: sampled, and known not to be remote; 0x301: remote.
        #expect(texts[0].ranges(of: #""flags":257"#).count == 2 && !texts[0].contains("769"))
        #expect(texts[1].contains(#""flags":769"#) && texts[1].contains(#""parentSpanId":"00f067aa0ba902b7""#))
        #expect(texts[0].contains(#""traceState":"v=1""#))
    }

    @Test func traceThatTheProducerDoesNotSampleIsNotRecorded() {
        let queue = queue()
        let tracer = OTLPTracer(queue: queue)
        let span = start(tracer, context(tracer, flags: 0))
        #expect(!span.isRecording)
        span.end(at: Instant(nanosecondsSinceEpoch: 9))
        #expect(queue.count == 0)
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: Fields())
        #expect(carrier["traceparent"]?.hasSuffix("-00") == true && carrier["tracestate"] == "v=1")
    }

    @Test func fullQueueDropsTheNewestAndCounts() {
        let queue = queue(2)
        let tracer = OTLPTracer(queue: queue)
        for name in ["a", "b", "c"] {
            let span = start(tracer)
            span.operationName = name
            span.end(at: Instant(nanosecondsSinceEpoch: 9))
        }
        #expect(queue.first(9).map(\.name) == ["a", "b"] && dropped.value == 1)
        queue.removeFirst(1)
        #expect(queue.first(9).map(\.name) == ["b"])
    }

    @Test func errorIsRecordedByItsTypeOnly() throws {
        struct Refused: Error { let secret = "the-key" }
        let queue = queue()
        let span = start(OTLPTracer(queue: queue))
        span.recordError(Refused(), attributes: [:], at: Instant(nanosecondsSinceEpoch: 6))
        for _ in 0..<40 { span.addEvent(SpanEvent(name: "e", at: Instant(nanosecondsSinceEpoch: 6))) }
        span.end(at: Instant(nanosecondsSinceEpoch: 9))
        let text = OTLPSpans.json(try #require(queue.first(1).first)).jsonText
        #expect(text.contains(#""exception.type","value":{"stringValue":"Refused"}"#) && !text.contains("the-key"))
        #expect(text.contains(#""droppedEventsCount":25"#))
    }

    @Test func bodyEndsBeforeTheSpanThatIsTooMuch() throws {
        let queue = queue()
        let tracer = OTLPTracer(queue: queue)
        for _ in 0..<3 {
            let span = start(tracer)
            span.attributes["text"] = String(repeating: "x", count: 5_000)
            span.end(at: Instant(nanosecondsSinceEpoch: 9))
        }
        let spans = queue.first(9)
        for (maximumBytes, count) in [(1, 1), (3_000, 2), (100_000, 3)] {
            let body = OTLPSpans.body(spans, resource: Self.resource, maximumBytes: maximumBytes)
            #expect(body.count == count)
            let value = try JSONParser.parse(body.bytes)
            let scope = value.object?["resourceSpans"]?.array?[0].object?["scopeSpans"]?.array?[0].object
            #expect(scope?["spans"]?.array?.count == count)
        }
        #expect(OTLPSpans.body(spans, resource: Self.resource, maximumBytes: .max).bytes.count < 6_000, "texts are cut")
    }
}
