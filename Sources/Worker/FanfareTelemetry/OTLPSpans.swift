internal import FanfareJSON
internal import Tracing

/// Encodes spans as the body of `POST /v1/traces`.
enum OTLPSpans {
    /// - Parameter maximumBytes: spans that would make the body longer are left out, except for the first.
    static func body(
        _ spans: [SpanRecord],
        resource: TelemetryResource,
        maximumBytes: Int
    ) -> OTLPBody {
        var bytes = Array(#"{"resourceSpans":[{"resource":"#.utf8)
        bytes.appendJSON(resource.json)
        bytes += #","scopeSpans":[{"scope":"#.utf8
        bytes.appendJSON(resource.scope)
        bytes += #","spans":["#.utf8
        var count = 0
        for span in spans {
            let length = bytes.count
            if count > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.appendJSON(json(span))
            if count > 0, bytes.count > maximumBytes {
                bytes.removeLast(bytes.count - length)
                break
            }
            count += 1
        }
        bytes += "]}]}]}".utf8
        return OTLPBody(bytes: bytes, count: count)
    }

    static func json(_ span: SpanRecord) -> JSONValue {
        var object: JSONObject = [
            "traceId": .string(span.context.trace.hex), "spanId": .string(TraceContext.hex(span.context.span)),
        ]
        if let parent = span.parent { object["parentSpanId"] = .string(TraceContext.hex(parent.span)) }
        if !span.context.state.isEmpty { object["traceState"] = .string(OTLP.cut(span.context.state)) }
        object["flags"] = flags(isSampled: span.context.isSampled, isRemote: span.parent?.isRemote ?? false)
        object["name"] = .string(OTLP.cut(span.name))
        object["kind"] = kind(span.kind)
        object["startTimeUnixNano"] = OTLP.integer(span.startNs)
        object["endTimeUnixNano"] = OTLP.integer(span.endNs ?? span.startNs)
        add(span.attributes, to: &object)
        if !span.events.isEmpty { object["events"] = .array(span.events.map(json)) }
        if span.lostEvents > 0 { object["droppedEventsCount"] = .number(JSONNumber(Int64(span.lostEvents))) }
        if !span.links.isEmpty { object["links"] = .array(span.links.map(json)) }
        if span.lostLinks > 0 { object["droppedLinksCount"] = .number(JSONNumber(Int64(span.lostLinks))) }
        if let status = span.status { object["status"] = json(status) }
        return .object(object)
    }

    /// OTLP's `SpanFlags`: the trace flags of W3C, `CONTEXT_HAS_IS_REMOTE`, and `CONTEXT_IS_REMOTE`.
    ///
    /// - Parameter isRemote: whether the parent of the span, or the linked span, is another process's.
    private static func flags(isSampled: Bool, isRemote: Bool) -> JSONValue {
        .number(JSONNumber(Int64((isSampled ? 1 : 0) | 0x100 | (isRemote ? 0x200 : 0))))
    }

    private static func json(_ event: SpanEvent) -> JSONValue {
        var object: JSONObject = [
            "timeUnixNano": OTLP.integer(event.nanosecondsSinceEpoch), "name": .string(OTLP.cut(event.name)),
        ]
        add(event.attributes, to: &object)
        return .object(object)
    }

    private static func json(_ link: (context: TraceContext, attributes: SpanAttributes)) -> JSONValue {
        var object: JSONObject = [
            "traceId": .string(link.context.trace.hex), "spanId": .string(TraceContext.hex(link.context.span)),
        ]
        if !link.context.state.isEmpty { object["traceState"] = .string(OTLP.cut(link.context.state)) }
        object["flags"] = flags(isSampled: link.context.isSampled, isRemote: link.context.isRemote)
        add(link.attributes, to: &object)
        return .object(object)
    }

    private static func json(_ status: SpanStatus) -> JSONValue {
        var object: JSONObject = ["code": status.code == .ok ? 1 : 2]
        if let message = status.message { object["message"] = .string(OTLP.cut(message)) }
        return .object(object)
    }

    private static func add(_ attributes: SpanAttributes, to object: inout JSONObject) {
        guard !attributes.isEmpty else { return }
        let (values, lost) = OTLP.attributes(attributes)
        object["attributes"] = .array(values)
        if lost > 0 { object["droppedAttributesCount"] = .number(JSONNumber(Int64(lost))) }
    }

    private static func kind(_ kind: SpanKind) -> JSONValue {
        switch kind {
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        default: 1
        }
    }
}
