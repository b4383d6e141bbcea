import FanfareJSON
import Testing

@testable import FanfareTelemetry

@Suite struct TraceSamplerTests {
    private func parent(_ isSampled: Bool) -> TraceContext {
        TraceContext(trace: .random(), span: 1, isSampled: isSampled)
    }

    private func trace(_ low: UInt64) -> TraceContext.TraceID { TraceContext.TraceID(high: 1, low: low) }

    @Test(arguments: [true, false]) func parentDecidesWhereItIsFollowed(_ isSampled: Bool) {
        for ratio in [0, 0.5, 1] {
            let sampler = TraceSampler(followsParent: true, ratio: ratio)
            #expect(sampler.records(trace(5), parent: parent(isSampled)) == isSampled)
        }
        #expect(TraceSampler(followsParent: false, ratio: 1).records(trace(5), parent: parent(isSampled)))
        #expect(!TraceSampler(followsParent: false, ratio: 0).records(trace(5), parent: parent(isSampled)))
    }

    /// As other implementations decide: by the last eight bytes of the trace's id.
    @Test(arguments: [
        (0.0, 0, false), (1e-19, 1, true), (0.25, 0x3FFF_FFFF_FFFF_F000, true), (0.25, 0x4000 << 48, false),
        (1, .max, true),
    ])
    func idDecidesWithoutAParent(_ ratio: Double, _ low: UInt64, _ isRecorded: Bool) {
        #expect(TraceSampler(ratio: ratio).records(trace(low), parent: nil) == isRecorded)
    }

    @Test func shareOfRandomTracesIsRecorded() {
        let sampler = TraceSampler(ratio: 0.25)
        let recorded = (0..<10_000).filter { _ in sampler.records(.random(), parent: nil) }.count
        #expect((2_000...3_000).contains(recorded), "\(recorded), 2,500 expected, with a deviation of 43")
    }

    @Test func resourceHasItsAttributesOnce() {
        var resource = TelemetryResource(instance: "w1", version: "0.1", prefix: "fanfare")
        resource.service = "shop"
        resource.attributes = [("team", "push"), ("service.version", "9"), ("team", "other")]
        let attributes = resource.json.object?["attributes"]?.array ?? []
        let pairs = attributes.map { one in
            "\(one.object?["key"]?.string ?? "")=\(one.object?["value"]?.object?["stringValue"]?.string ?? "")"
        }
        #expect(
            pairs == [
                "service.name=shop", "service.instance.id=w1", "service.version=0.1", "fanfare.prefix=fanfare",
                "team=push",
            ]
        )
    }
}
