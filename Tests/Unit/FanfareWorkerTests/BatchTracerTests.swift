import FanfareModel
import StreamWire
import Testing
import Tracing

@testable import FanfareCore
@testable import FanfareWorker

@Suite struct BatchTracerTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private static let parent = "00-\(trace)-00f067aa0ba902b7-0"
    private static let pushedMs: Int64 = 1_700_000_000_000

    private func batch(
        traceparent: String? = nil,
        tracestate: String? = nil,
        notBefore: Int64 = 0
    ) -> (HeldBatch, JobSpec) {
        let job = Job(
            id: "news",
            hasOwnID: true,
            entryID: "\(Self.pushedMs)-0",
            target: .tokens(["a", "b", "c"]),
            message: Array(#"{"data":{"k":"v"}}"#.utf8),
            notBefore: notBefore,
            traceparent: traceparent,
            tracestate: tracestate
        )
        var claim = Claim(job: "news", epoch: "77", watermark: 3, taken: ["a", "b", "c"])
        claim.deliveries = 2
        return (HeldBatch(claim, job: 0, startedNs: 0), JobSpec(job: job, total: 3))
    }

    @discardableResult
    private func begin(_ batch: (HeldBatch, JobSpec), _ tracer: any Tracer, afterMs: Int64 = 0) -> BatchSpan? {
        BatchTracer(tracer).begin(
            batch.0,
            spec: batch.1,
            project: "demo",
            keys: ProjectKeys(project: "demo"),
            wallMs: Self.pushedMs + afterMs
        )
    }

    @Test func spanOfABatchBelongsToTheProducersTrace() throws {
        let tracer = TestTracer()
        let span = begin(batch(traceparent: Self.parent + "1", tracestate: "vendor=1"), tracer, afterMs: 59_999)
        #expect(tracer.spans.map(\.ends) == [0])
        span?.end(.closed)
        let seen = try #require(tracer.spans.first)
        #expect(tracer.spans.count == 1 && seen.ends == 1)
        #expect(seen.name == "process fanfare:{demo}:jobs" && seen.kind == .consumer && seen.links.isEmpty)
        #expect(seen.trace == Self.trace && seen.parent == "00f067aa0ba902b7" && seen.state == "vendor=1")
        #expect(seen.attributes["fanfare.job"]?.toSpanAttribute() == .string("news"))
        #expect(seen.attributes["fanfare.project"]?.toSpanAttribute() == .string("demo"))
        #expect(seen.attributes["fanfare.epoch"]?.toSpanAttribute() == .string("77"))
        #expect(seen.attributes["fanfare.deliveries"]?.toSpanAttribute() == .int64(2))
        #expect(seen.attributes["fanfare.recipients"]?.toSpanAttribute() == .int64(3))
        let messaging = [
            "system": "fanfare", "operation.name": "process", "operation.type": "process",
            "destination.name": "fanfare:{demo}:jobs", "message.id": "news",
        ]
        for (name, value) in messaging {
            #expect(seen.attributes["messaging.\(name)"]?.toSpanAttribute() == .string(value))
        }
        #expect(seen.attributes["messaging.batch.message_count"] == nil, "a span is for one message")
        #expect(seen.attributes["fanfare.outcome"]?.toSpanAttribute() == .string("closed"))
        #expect(seen.status == nil)
    }

    @Test func spanOfAJobThatWaitedAMinuteIsLinkedToTheProducer() throws {
        let tracer = TestTracer()
        begin(batch(traceparent: Self.parent + "1"), tracer, afterMs: 60_000)?.end(.closed)
        let seen = try #require(tracer.spans.first)
        #expect(seen.trace == nil && seen.links == [Self.trace])
    }

    /// It waited from its push, not from the time that it was scheduled for.
    @Test func spanOfAScheduledJobIsLinkedToTheProducer() throws {
        let tracer = TestTracer()
        let batch = batch(traceparent: Self.parent + "1", notBefore: Self.pushedMs + 3_600_000)
        begin(batch, tracer, afterMs: 3_600_001)?.end(.closed)
        #expect(try #require(tracer.spans.first).links == [Self.trace])
    }

    @Test func traceThatTheProducerDoesNotRecordStaysTheParent() throws {
        let tracer = TestTracer()
        begin(batch(traceparent: Self.parent + "0"), tracer, afterMs: 3_600_000)?.end(.closed)
        let seen = try #require(tracer.spans.first)
        #expect(seen.trace == Self.trace && seen.links.isEmpty)
    }

    @Test func spanWithoutAParentBeginsATrace() throws {
        let tracer = TestTracer()
        begin(batch(), tracer)?.end(.returned)
        let seen = try #require(tracer.spans.first)
        #expect(seen.trace == nil && seen.ends == 1 && seen.status == nil && seen.links.isEmpty)
    }

    @Test func spanOfALostBatchIsAnError() throws {
        let tracer = TestTracer()
        begin(batch(), tracer)?.end(.lost)
        let seen = try #require(tracer.spans.first)
        #expect(seen.status?.code == .error && seen.attributes["error.type"]?.toSpanAttribute() == .string("lost"))
    }

    @Test func spanNamesNoRecipient() throws {
        let tracer = TestTracer()
        begin(batch(), tracer)?.end(.closed)
        let seen = try #require(tracer.spans.first)
        seen.attributes.forEach { _, value in
            for recipient in ["a", "b", "c"] { #expect(value != .string(recipient)) }
        }
    }

    @Test func noTracerMakesNoSpan() {
        #expect(begin(batch(), NoOpTracer()) == nil)
        #expect(!BatchTracer().isEnabled)
    }
}
