import FanfareJSON

/// Reads the JSON of `POST /faults`. Unknown names are refused: a fault that silently does nothing proves nothing.
enum FaultReader {
    private static let xmppOnly: Set<String> = ["nack", "draining", "without_id", "stanza"]
    private static let xmppToo: Set<String> = ["close", "delay_ms"]

    static func read(_ source: JSONObject, id: String) throws(ControlError) -> Fault {
        try source.refuseNames(except: ["match", "action", "times"])
        let match = source["match"]?.object ?? JSONObject()
        try match.refuseNames(except: ["path", "token_prefix", "fraction"], path: "match.")
        guard let given = source["action"]?.object else { throw ControlError("action: an object") }
        let times = try source.integer("times", 1...Int64.max, orElse: "times: a positive integer")
        let fraction = match["fraction"].map { $0.number?.double } ?? 1
        guard let fraction, fraction >= 0, fraction <= 1 else { throw ControlError("match.fraction: 0 to 1") }
        let path = match["path"]?.string ?? "/"
        guard path.hasPrefix("/") || path == Faults.xmppPath else {
            throw ControlError("match.path: a path, or \(Faults.xmppPath)")
        }
        return Fault(
            id: id,
            path: path,
            tokenPrefix: match["token_prefix"]?.string,
            fraction: fraction,
            action: try action(given, isXMPP: path == Faults.xmppPath),
            timesLeft: times.map { Int($0) },
            source: source
        )
    }

    private static func action(_ given: JSONObject, isXMPP: Bool) throws(ControlError) -> FaultAction {
        // An action of the other kind would silently do nothing.
        for name in given.members.map(\.key) {
            if isXMPP, !xmppOnly.contains(name), !xmppToo.contains(name) {
                throw ControlError("action.\(name): not an action on \(Faults.xmppPath)")
            }
            if !isXMPP, xmppOnly.contains(name) { throw ControlError("action.\(name): only on \(Faults.xmppPath)") }
        }
        var action = FaultAction()
        for (name, value) in given.members.map({ ($0.key, $0.value) }) {
            switch name {
            case "status": action.status = Int(try integer(value, 200...599, name))
            case "html": action.html = Int(try integer(value, 200...599, name))
            case "delay_ms": action.delayMs = try integer(value, 0...600_000, name)
            case "truncate": action.wire = .truncate(bytes: Int(try integer(value, 0...10_000_000, name)))
            case "max_concurrent_streams":
                action.wire = .maxConcurrentStreams(Int(try integer(value, 0...1_000_000, name)))
            case "retry_after":
                // A control character would end the header early.
                action.retryAfter = try string(value, name, rule: "a string of printable ASCII") {
                    $0.utf8.count <= 200 && $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
                }
            case "body": action.body = try string(value, name, rule: "a string") { _ in true }
            case "reset": action.wire = .reset(code: try code(value, name))
            case "goaway": action.wire = .goAway(code: try code(value, name))
            case "refuse_stream" where value == .bool(true): action.wire = .refuseStream
            case "close" where value == .bool(true): action.wire = .close
            case "draining" where value == .bool(true): action.isDraining = true
            case "without_id" where value == .bool(true): action.hidesID = true
            case "stanza": action.stanza = try string(value, name, rule: "a string") { _ in true }
            case "nack":
                action.nack = try string(value, name, rule: "a code, such as SERVICE_UNAVAILABLE") {
                    (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 == 0x5F || (0x41...0x5A).contains($0) }
                }
            default: throw ControlError("action.\(name): not an action")
            }
        }
        guard !given.isEmpty else { throw ControlError("action: at least one") }
        return action
    }

    private static func integer(
        _ value: JSONValue,
        _ range: ClosedRange<Int64>,
        _ name: String
    ) throws(ControlError) -> Int64 {
        guard let number = value.number?.int64, range.contains(number) else {
            throw ControlError("action.\(name): an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func string(
        _ value: JSONValue,
        _ name: String,
        rule: String,
        _ fits: (String) -> Bool
    ) throws(ControlError) -> String {
        guard let text = value.string, fits(text) else { throw ControlError("action.\(name): \(rule)") }
        return text
    }

    private static let codes: [String: UInt32] = [
        "NO_ERROR": 0, "PROTOCOL_ERROR": 1, "INTERNAL_ERROR": 2, "FLOW_CONTROL_ERROR": 3, "SETTINGS_TIMEOUT": 4,
        "STREAM_CLOSED": 5, "FRAME_SIZE_ERROR": 6, "REFUSED_STREAM": 7, "CANCEL": 8, "COMPRESSION_ERROR": 9,
        "CONNECT_ERROR": 10, "ENHANCE_YOUR_CALM": 11, "INADEQUATE_SECURITY": 12, "HTTP_1_1_REQUIRED": 13,
    ]

    private static func code(_ value: JSONValue, _ name: String) throws(ControlError) -> UInt32 {
        guard let code = value.string.flatMap({ codes[$0] }) else {
            throw ControlError("action.\(name): an error code of HTTP/2, such as CANCEL")
        }
        return code
    }
}
