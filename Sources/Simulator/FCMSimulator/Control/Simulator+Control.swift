import FanfareJSON

/// The control port: counts, listings, faults, devices and the clock.
extension Simulator {
    /// Answers a request on the control port.
    ///
    /// - Parameter nowMs: Unix milliseconds.
    public mutating func control(_ request: SimulatorRequest, nowMs: Int64) -> SimulatorReply {
        let now = nowMs &+ clockOffsetMs
        advance(to: now)
        do throws(ControlError) {
            switch (request.method, request.path) {
            case ("GET", "/stats"):
                var report = statistics.json(messages: messages, fanouts: fanouts, quotas: quotas)
                report["xmpp"] = xmpp.report
                return SimulatorReply(object: report)
            case ("GET", "/quota"): return SimulatorReply(object: quotas.report)
            case ("GET", "/fanouts"):
                let listed = fanouts.list(project: FormText.value("project", in: request.query))
                return SimulatorReply(lines: listed.flatMap(\.line))
            case ("GET", "/deliveries"):
                let lines = DeliveryLines(store: messages.deliveries, devices: devices)
                // A listing is read by a developer or a test: without a token only the newest thousand.
                return SimulatorReply(lines: lines.text(token: FormText.value("token", in: request.query), most: 1_000))
            case ("GET", "/faults"): return SimulatorReply(status: 200, json: faults.report.jsonBytes)
            case ("GET", "/devices"): return SimulatorReply(object: try deviceReport(request.query, now: now))
            case ("DELETE", "/faults"):
                guard let id = FormText.value("id", in: request.query) else { throw ControlError("id: which fault") }
                guard faults.remove(id) else { return SimulatorReply(status: 404, object: ["error": "no such fault"]) }
            case ("POST", "/reset"): reset()
            case ("POST", "/faults"):
                return SimulatorReply(object: ["id": .string(try faults.add(try Self.body(of: request)))])
            case ("POST", "/devices"):
                // Stored messages that the device accepts now may have receipts.
                defer { advanceXMPP(to: now) }
                try describe(try Self.body(of: request), now: now)
            case ("POST", "/clock"):
                let step = try Self.body(of: request)["advance_ms"]?.number?.int64
                guard let step, advanceClock(byMs: step, nowMs: nowMs) else {
                    throw ControlError("advance_ms: 0 to ten years")
                }
            case ("POST", "/upstream"):
                let id = try sendUpstream(try Self.body(of: request), now: now)
                return SimulatorReply(object: ["message_id": .string(id)])
            case ("POST", "/drain"):
                let body = request.body.isEmpty ? JSONObject() : try Self.body(of: request)
                return SimulatorReply(object: ["draining": .integer(try drainAll(body, now: now))])
            default: return SimulatorReply(status: 404, object: ["error": "not found"])
            }
            return SimulatorReply(object: JSONObject())
        } catch {
            return error.reply
        }
    }

    private static func body(of request: SimulatorRequest) throws(ControlError) -> JSONObject {
        try JSONObject(request.body, limits: JSONLimits(maximumDepth: 16, maximumBytes: 1 << 20)) { error in
            ControlError("body: " + (error?.description ?? "an object"))
        }
    }
}
