import FanfareJSON

/// The control port: counts, listings, faults, devices and the clock.
extension Simulator {
    /// Answers a request on the control port. Unknown fields are refused, because a test that misspells one proves
    /// nothing.
    ///
    /// - Parameter nowMs: Unix milliseconds.
    public mutating func control(_ request: SimulatorRequest, nowMs: Int64) -> SimulatorReply {
        let now = nowMs &+ clockOffsetMs
        advance(to: now)
        switch (request.method, request.path) {
        case ("GET", "/stats"):
            var report = statistics.json(messages: messages, fanouts: fanouts, quotas: quotas)
            report["xmpp"] = xmpp.report
            return SimulatorReply(status: 200, json: JSONValue.object(report).jsonBytes)
        case ("GET", "/quota"): return SimulatorReply(status: 200, json: quotas.report.jsonBytes)
        case ("GET", "/fanouts"):
            let listed = fanouts.list(project: FormText.value("project", in: request.query))
            return SimulatorReply(lines: listed.flatMap(\.line))
        case ("GET", "/deliveries"):
            let lines = DeliveryLines(messages.deliveries) { [devices] in devices[$0]?.app ?? AppTraits() }
            // A listing is read by a person or a test: without a token only the newest thousand.
            return SimulatorReply(lines: lines.text(token: FormText.value("token", in: request.query), most: 1_000))
        case ("GET", "/faults"): return SimulatorReply(status: 200, json: faults.report.jsonBytes)
        case ("GET", "/devices"): return showDevice(request.query, now: now)
        case ("DELETE", "/faults"):
            guard let id = FormText.value("id", in: request.query) else { return Self.bad("id: which fault") }
            guard faults.remove(id) else {
                return SimulatorReply(status: 404, json: Array(#"{"error":"no such fault"}"#.utf8))
            }
            return Self.done
        case ("POST", "/reset"):
            reset()
            return Self.done
        case ("POST", "/drain") where request.body.isEmpty: return drainAll(JSONObject(), now: now)
        case ("POST", let path): return post(request.body, to: path, nowMs: nowMs)
        default: return Self.notFound
        }
    }

    private mutating func post(_ body: [UInt8], to path: String, nowMs: Int64) -> SimulatorReply {
        guard ["/faults", "/devices", "/clock", "/upstream", "/drain"].contains(path) else { return Self.notFound }
        let now = nowMs &+ clockOffsetMs
        let object: JSONObject
        do throws(JSONError) {
            let value = try JSONParser.parse(body, limits: JSONLimits(maxDepth: 16, maxBytes: 1 << 20))
            guard case .object(let root) = value else { return Self.bad("body: an object") }
            object = root
        } catch {
            return Self.bad("body: \(error.description)")
        }
        switch path {
        case "/faults":
            switch faults.add(object) {
            case .success(let id):
                return SimulatorReply(status: 200, json: JSONValue.object(["id": .string(id)]).jsonBytes)
            case .failure(let refusal): return Self.bad(refusal.reason)
            }
        case "/devices":
            let reply = describe(object, now: now)
            // Stored messages that the device took now may have receipts.
            advanceXMPP(to: now)
            return reply
        case "/clock":
            guard let step = object["advance_ms"]?.number?.int64, advanceClock(byMs: step, nowMs: nowMs) else {
                return Self.bad("advance_ms: 0 to ten years")
            }
            return Self.done
        case "/upstream": return sendUpstream(object, now: now)
        default: return drainAll(object, now: now)
        }
    }

    static let done = SimulatorReply(status: 200, json: Array("{}".utf8))
    private static let notFound = SimulatorReply(status: 404, json: Array(#"{"error":"not found"}"#.utf8))

    static func bad(_ reason: String) -> SimulatorReply {
        SimulatorReply(status: 400, json: JSONValue.object(["error": .string(reason)]).jsonBytes)
    }

    /// Refuses an object with a name that is not known.
    static func refusal(of object: JSONObject, known: Set<String>) -> SimulatorReply? {
        object.members.first { !known.contains($0.key) }.map { bad("\($0.key): unknown") }
    }
}
