internal import Tracing

/// A place in a trace, as W3C's headers `traceparent` and `tracestate` name it.
struct TraceContext: Equatable, Sendable {
    /// The trace's 16 bytes, the first 8 of them in `high`.
    struct TraceID: Equatable, Sendable {
        var high: UInt64
        var low: UInt64

        var hex: String { TraceContext.hex(high) + TraceContext.hex(low) }

        static func random() -> TraceID { TraceID(high: .random(in: 0 ... .max), low: .random(in: 1 ... .max)) }
    }

    var trace: TraceID
    var span: UInt64
    /// Whether the spans of the trace are recorded.
    var isSampled: Bool
    /// `tracestate`, handed on as it came; empty for none.
    var state = ""
    /// Whether another process made the span: the context was read from headers.
    private(set) var isRemote = false

    init(trace: TraceID, span: UInt64, isSampled: Bool, state: String = "") {
        (self.trace, self.span, self.isSampled, self.state) = (trace, span, isSampled, state)
    }

    /// Reads the headers of another process; nil if `traceparent` is not valid.
    init?(traceparent: String, tracestate: String?) {
        let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, let version = Self.number(parts[0], digits: 2), version != 255,
            version > 0 || parts.count == 4, parts[1].utf8.count == 32,
            let high = Self.number(parts[1].prefix(16), digits: 16),
            let low = Self.number(parts[1].suffix(16), digits: 16), high | low != 0,
            let span = Self.number(parts[2], digits: 16), span != 0, let flags = Self.number(parts[3], digits: 2)
        else { return nil }
        self.init(
            trace: TraceID(high: high, low: low),
            span: span,
            isSampled: flags & 1 == 1,
            state: tracestate ?? ""
        )
        isRemote = true
    }

    var traceparent: String { "00-\(trace.hex)-\(Self.hex(span))-0\(isSampled ? 1 : 0)" }

    /// 16 hexadecimal digits in lower case.
    static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// W3C allows lower case only.
    private static func number(_ text: Substring, digits: Int) -> UInt64? {
        guard text.utf8.count == digits,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return UInt64(text, radix: 16)
    }
}

extension ServiceContext {
    private enum Key: ServiceContextKey {
        typealias Value = TraceContext
        static var nameOverride: String? { "fanfare-trace" }
    }

    var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
