import Testing
import Tracing

@testable import FanfareTelemetry

@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test func validHeadersAreReadAndWrittenBack() throws {
        let text = "00-\(Self.trace)-00f067aa0ba902b7-01"
        let context = try #require(TraceContext(traceparent: text, tracestate: "vendor=1"))
        #expect(context.trace.hex == Self.trace && context.span == 0x00f0_67aa_0ba9_02b7)
        #expect(context.isSampled && context.state == "vendor=1" && context.traceparent == text)
        #expect(TraceContext(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-00", tracestate: nil)?.isSampled == false)
        #expect(TraceContext(traceparent: "01-\(Self.trace)-00f067aa0ba902b7-01-more", tracestate: nil) != nil)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-00f067aa0ba902b7", "00-\(trace)-00f067aa0ba902b7-01-more",
        "ff-\(trace)-00f067aa0ba902b7-01", "00-\(trace.uppercased())-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\(trace)-0000000000000000-01",
        "00-\(trace.dropLast())-00f067aa0ba902b7-01", "00-\(trace)-00f067aa0ba902b-01",
        "00-\(trace)-+0f067aa0ba902b7-01",
        "00-\(trace)-00f067aa0ba902b7-1",
    ])
    func invalidHeaderIsNoContext(text: String) {
        #expect(TraceContext(traceparent: text, tracestate: nil) == nil)
    }

    @Test func hexadecimalTextHasItsZeros() {
        #expect(TraceContext.hex(0) == "0000000000000000" && TraceContext.hex(.max) == "ffffffffffffffff")
        #expect(TraceContext.TraceID.random() != TraceContext.TraceID.random())
    }
}
