import FanfareJSON

extension Simulator {
    mutating func issueToken(_ request: TokenRequest, proof: TokenProof?, now: Int64) -> SimulatorReply {
        guard configuration.projects.contains(where: { $0.serviceAccountEmail == request.email }) else {
            return TokenRefusal("invalid_grant", "Invalid grant: account not found").reply
        }
        guard let proof, proof.isSignatureValid else {
            return TokenRefusal("invalid_grant", "Invalid JWT Signature.").reply
        }
        let issued = callersTime(now)
        switch request.judge(audiences: tokenAudiences, nowMs: issued) {
        case .failure(let refusal): return refusal.reply
        case .success(let maySend):
            let expires = issued + tokenLifetimeSeconds * 1_000
            tokens.issue(
                proof.newToken,
                AccessTokens.Grant(email: request.email, maySend: maySend, expiresMs: expires),
                nowMs: issued
            )
            let body: JSONObject = [
                "access_token": .string(proof.newToken),
                "expires_in": .number(JSONNumber(max(1, tokenLifetimeSeconds - 1))), "token_type": "Bearer",
            ]
            return SimulatorReply(status: 200, json: JSONValue.object(body).jsonBytes)
        }
    }

    /// The control port: statistics, faults, devices, the clock. Bodies are small and trusted more than a client's, but
    /// every field is still checked.
    ///
    /// - Parameter nowMs: Unix milliseconds.
    public mutating func control(_ request: SimulatorRequest, nowMs: Int64) -> SimulatorReply {
        let now = nowMs &+ clockOffsetMs
        settle(now: now)
        switch (request.method, request.path) {
        case ("GET", "/stats"):
            var report = statistics.json(stored: queues.messageCount)
            report["xmpp"] = xmppReport
            return SimulatorReply(status: 200, json: JSONValue.object(report).jsonBytes)
        case ("GET", "/quota"): return SimulatorReply(status: 200, json: quotaReport.jsonBytes)
        case ("GET", "/fanouts"): return listFanouts(request.query)
        case ("GET", "/deliveries"): return listDeliveries(request.query)
        case ("GET", "/faults"): return listFaults()
        case ("GET", "/devices"): return showDevice(request.query, now: now)
        case ("DELETE", "/faults"): return removeFault(request.query)
        case ("POST", "/reset"):
            forgetAll()
            return Self.done
        case ("POST", "/faults"):
            return withObject(request) { (simulator, object) -> SimulatorReply in
                switch simulator.faults.add(object) {
                case .success(let id):
                    return SimulatorReply(status: 200, json: JSONValue.object(["id": .string(id)]).jsonBytes)
                case .failure(let refusal): return Self.bad(refusal.reason)
                }
            }
        case ("POST", "/devices"):
            return withObject(request) { (simulator, object) -> SimulatorReply in
                let reply = simulator.describe(object, now: now)
                // What the device took of its mail may have to be confirmed.
                simulator.settleXMPP(now: now)
                return reply
            }
        case ("POST", "/clock"):
            return withObject(request) { (simulator, object) -> SimulatorReply in
                guard let step = object["advance_ms"]?.number?.int64, step >= 0, step <= 10 * 365 * 86_400_000,
                    simulator.clockOffsetMs <= 100 * 365 * 86_400_000
                else { return Self.bad("advance_ms: 0 to ten years") }
                simulator.clockOffsetMs += step
                simulator.settle(now: nowMs &+ simulator.clockOffsetMs)
                return Self.done
            }
        case ("POST", "/upstream"): return withObject(request) { $0.sendUpstream($1, now: now) }
        case ("POST", "/drain") where request.body.isEmpty: return drainAll(JSONObject(), now: now)
        case ("POST", "/drain"): return withObject(request) { $0.drainAll($1, now: now) }
        default: return SimulatorReply(status: 404, json: Array(#"{"error":"not found"}"#.utf8))
        }
    }

    private mutating func withObject(
        _ request: SimulatorRequest,
        _ work: (inout Simulator, JSONObject) -> SimulatorReply
    ) -> SimulatorReply {
        do throws(JSONError) {
            let value = try JSONParser.parse(request.body, limits: JSONLimits(maxDepth: 16, maxBytes: 1 << 20))
            guard let object = value.object else { return Self.bad("body: an object") }
            return work(&self, object)
        } catch {
            return Self.bad("body: \(error.description)")
        }
    }

    private func listDeliveries(_ query: String) -> SimulatorReply {
        let token = FormText.pairs(Array(query.utf8))?.last { $0.name == "token" }?.value
        // A listing is read by a person or a test: without a token only the newest thousand.
        let body = DeliveryLines(deliveries) { [devices] in devices[$0]?.app ?? AppTraits() }
            .text(token: token, most: 1_000)
        return SimulatorReply(
            status: 200,
            headers: [SimulatorReply.Header("content-type", "application/x-ndjson")],
            body: body
        )
    }

    private func listFaults() -> SimulatorReply {
        let list = faults.all.map { fault -> JSONValue in
            var object = fault.source
            object["id"] = .string(fault.id)
            object["hits"] = .number(JSONNumber(Int64(fault.hits)))
            if let left = fault.timesLeft { object["times_left"] = .number(JSONNumber(Int64(left))) }
            return .object(object)
        }
        return SimulatorReply(status: 200, json: JSONValue.array(list).jsonBytes)
    }

    private mutating func removeFault(_ query: String) -> SimulatorReply {
        guard let id = FormText.pairs(Array(query.utf8))?.last(where: { $0.name == "id" })?.value else {
            return Self.bad("id: which fault")
        }
        return faults.remove(id)
            ? Self.done : SimulatorReply(status: 404, json: Array(#"{"error":"no such fault"}"#.utf8))
    }

    static let done = SimulatorReply(status: 200, json: Array("{}".utf8))

    static func bad(_ reason: String) -> SimulatorReply {
        SimulatorReply(status: 400, json: JSONValue.object(["error": .string(reason)]).jsonBytes)
    }
}
