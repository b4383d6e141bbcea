import FanfareModel
import StreamWire
import Testing
import Tracing

@testable import FanfareCore
@testable import FanfareWorker

@Suite struct BatchTracerTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private func batch(traceparent: String? = nil, tracestate: String? = nil) -> (HeldBatch, JobSpec) {
        let job = Job(
            id: "news",
            hasOwnID: true,
            entryID: "1-0",
            target: .tokens(["a", "b", "c"]),
            message: Array(#"{"data":{"k":"v"}}"#.utf8),
            traceparent: traceparent,
            tracestate: tracestate
        )
        var claim = Claim(job: "news", epoch: "77", watermark: 3, taken: ["a", "b", "c"])
        claim.deliveries = 2
        return (HeldBatch(claim, job: 0, startedNs: 0), JobSpec(job: job, total: 3))
    }

    private func begin(_ batch: (HeldBatch, JobSpec), _ tracer: TestTracer) -> BatchSpan? {
        BatchTracer(tracer).begin(batch.0, spec: batch.1, project: "demo")
    }

    @Test func spanOfABatchBelongsToTheProducersTrace() throws {
        let tracer = TestTracer()
        let batch = batch(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-01", tracestate: "vendor=1")
        let span = BatchTracer(tracer).begin(batch.0, spec: batch.1, project: "demo")
        #expect(tracer.spans.map(\.ends) == [0])
        span?.end(.closed)
        let seen = try #require(tracer.spans.first)
        #expect(tracer.spans.count == 1 && seen.ends == 1)
        #expect(seen.name == "fanfare.batch" && seen.kind == .consumer)
        #expect(seen.trace == Self.trace && seen.parent == "00f067aa0ba902b7" && seen.state == "vendor=1")
        #expect(seen.attributes["fanfare.job"]?.toSpanAttribute() == .string("news"))
        #expect(seen.attributes["fanfare.project"]?.toSpanAttribute() == .string("demo"))
        #expect(seen.attributes["fanfare.epoch"]?.toSpanAttribute() == .string("77"))
        #expect(seen.attributes["fanfare.deliveries"]?.toSpanAttribute() == .int64(2))
        #expect(seen.attributes["messaging.batch.message_count"]?.toSpanAttribute() == .int64(3))
        #expect(seen.attributes["fanfare.outcome"]?.toSpanAttribute() == .string("closed"))
        #expect(seen.status == nil)
    }

    @Test func spanWithoutAParentBeginsATrace() throws {
        let tracer = TestTracer()
        begin(batch(), tracer)?.end(.returned)
        let seen = try #require(tracer.spans.first)
        #expect(seen.trace == nil && seen.ends == 1 && seen.status == nil)
    }

    @Test func spanOfALostBatchIsAnError() throws {
        let tracer = TestTracer()
        begin(batch(), tracer)?.end(.lost)
        #expect(try #require(tracer.spans.first).status?.code == .error)
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
        #expect(BatchTracer(NoOpTracer()).begin(batch().0, spec: batch().1, project: "demo") == nil)
        #expect(BatchTracer().begin(batch().0, spec: batch().1, project: "demo") == nil)
    }
}
