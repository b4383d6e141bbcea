import FanfareJSON

/// Reads the JSON of `POST /faults`. Unknown names are refused: a fault that silently does nothing proves nothing.
enum FaultReader {
    static func read(_ source: JSONObject) throws(FaultRefusal) -> Fault {
        try known(source, ["match", "action", "times"], "")
        let match = source["match"]?.object ?? JSONObject()
        try known(match, ["path", "token_prefix", "fraction"], "match.")
        guard let given = source["action"]?.object else { throw FaultRefusal(reason: "action: an object") }
        var times: Int?
        if let value = source["times"] {
            guard let number = value.number?.int64, number > 0, let small = Int(exactly: number) else {
                throw FaultRefusal(reason: "times: a positive integer")
            }
            times = small
        }
        var fraction = 1.0
        if let value = match["fraction"] {
            guard let number = value.number?.double, number >= 0, number <= 1 else {
                throw FaultRefusal(reason: "match.fraction: 0 to 1")
            }
            fraction = number
        }
        let path = match["path"]?.string ?? "/"
        guard path.hasPrefix("/") || path == XMPPFault.path else {
            throw FaultRefusal(reason: "match.path: a path, or \(XMPPFault.path)")
        }
        try XMPPFault.check(given, isXMPP: path == XMPPFault.path)
        return Fault(
            id: "",
            path: path,
            tokenPrefix: match["token_prefix"]?.string,
            fraction: fraction,
            action: try action(given),
            timesLeft: times,
            source: source
        )
    }

    private static func action(_ given: JSONObject) throws(FaultRefusal) -> FaultAction {
        var action = FaultAction()
        for member in given.members {
            let number = member.value.number?.int64
            switch member.key {
            case "status": action.status = Int(try range(number, 200...599, "action.status"))
            case "html": action.html = Int(try range(number, 200...599, "action.html"))
            case "delay_ms": action.delayMs = try range(number, 0...600_000, "action.delay_ms")
            case "truncate": action.wire = .truncate(bytes: Int(try range(number, 0...10_000_000, "action.truncate")))
            case "max_concurrent_streams":
                action.wire = .maxConcurrentStreams(Int(try range(number, 0...1_000_000, "action." + member.key)))
            case "retry_after": action.retryAfter = try headerValue(member.value, "action.retry_after")
            case "body":
                guard let text = member.value.string else { throw FaultRefusal(reason: "action.body: a string") }
                action.body = text
            case "reset": action.wire = .reset(code: try code(member.value, "action.reset"))
            case "goaway": action.wire = .goAway(code: try code(member.value, "action.goaway"))
            case "refuse_stream" where member.value == .bool(true): action.wire = .refuseStream
            case "close" where member.value == .bool(true): action.wire = .close
            case "draining" where member.value == .bool(true): action.isDraining = true
            case "nack": action.nack = try XMPPFault.code(member.value)
            default: throw FaultRefusal(reason: "action.\(member.key): not an action")
            }
        }
        guard !given.isEmpty else { throw FaultRefusal(reason: "action: at least one") }
        return action
    }

    private static func known(_ object: JSONObject, _ names: Set<String>, _ path: String) throws(FaultRefusal) {
        if let stranger = object.members.first(where: { !names.contains($0.key) }) {
            throw FaultRefusal(reason: "\(path)\(stranger.key): unknown")
        }
    }

    private static func range(_ value: Int64?, _ range: ClosedRange<Int64>, _ name: String) throws(FaultRefusal)
        -> Int64
    {
        guard let value, range.contains(value) else {
            throw FaultRefusal(reason: "\(name): an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Refuses control characters, which would end the header early.
    private static func headerValue(_ value: JSONValue, _ name: String) throws(FaultRefusal) -> String {
        guard let text = value.string, text.utf8.count <= 200, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw FaultRefusal(reason: "\(name): a string of printable ASCII")
        }
        return text
    }

    private static let codes: [String: UInt32] = [
        "NO_ERROR": 0, "PROTOCOL_ERROR": 1, "INTERNAL_ERROR": 2, "FLOW_CONTROL_ERROR": 3, "SETTINGS_TIMEOUT": 4,
        "STREAM_CLOSED": 5, "FRAME_SIZE_ERROR": 6, "REFUSED_STREAM": 7, "CANCEL": 8, "COMPRESSION_ERROR": 9,
        "CONNECT_ERROR": 10, "ENHANCE_YOUR_CALM": 11, "INADEQUATE_SECURITY": 12, "HTTP_1_1_REQUIRED": 13,
    ]

    private static func code(_ value: JSONValue, _ name: String) throws(FaultRefusal) -> UInt32 {
        guard let code = value.string.flatMap({ codes[$0] }) else {
            throw FaultRefusal(reason: "\(name): an error code of HTTP/2, such as CANCEL")
        }
        return code
    }
}
