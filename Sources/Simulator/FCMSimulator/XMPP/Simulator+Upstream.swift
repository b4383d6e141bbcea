import FanfareJSON

/// Messages from devices, which a test sends for them on the control port.
extension Simulator {
    /// `POST /upstream`: a device sends a message to its project's app server, or to its group.
    mutating func sendUpstream(_ object: JSONObject, now: Int64) -> SimulatorReply {
        if let reply = Self.refusal(of: object, known: Self.upstreamNames) { return reply }
        guard let from = object["from"]?.string, Recipients.isToken(from) else { return Self.bad("from: a token") }
        guard TokenBehaviour(from) != .unregistered, !devices.isGone(from, nowMs: now) else {
            return Self.bad("from: not registered")
        }
        guard let project = upstreamProject(object["project"], from: from) else { return Self.bad("project: unknown") }
        let category = object["category"]?.string ?? devices[from]?.package ?? "com.example.app"
        guard !category.isEmpty, category.utf8.count <= 255 else { return Self.bad("category: a package") }
        let data = object["data"] ?? .object(JSONObject())
        guard Self.isUpstreamData(data), PayloadSize.of(data) <= 4_096 else {
            return Self.bad("data: a string or an object of strings, at most 4096 bytes")
        }
        let lifetime = object["ttl"].map { $0.number?.int64 } ?? V1Rules.longestTTLSeconds
        guard let lifetime, LegacyRules.isTTL(lifetime) else { return Self.bad("ttl: seconds, 0 to 2419200") }
        let id = object["message_id"]?.string ?? "u-" + ids.stream()
        guard !id.isEmpty, id.utf8.count <= 4_096 else { return Self.bad("message_id: a string") }
        if let limit = xmpp.upstream.reachedLimit(device: from, project: project.id, nowMs: now) {
            return SimulatorReply(
                status: 429,
                json: JSONValue.object(["error": .string("too many upstream messages of this \(limit)")]).jsonBytes
            )
        }
        if let to = object["to"] {
            guard let data = data.object else { return Self.bad("data: an object, where a group is addressed") }
            let message: JSONObject = [
                "to": .string(to.string ?? ""), "time_to_live": .number(JSONNumber(lifetime)), "data": .object(data),
            ]
            return sendToGroup(message, from: from, messageID: id, project: project, now: now)
        }
        let message = Upstream.message(
            id: id,
            from: from,
            category: category,
            data: data,
            // A message that is never stored is sent before it can expire.
            expiresMs: now + max(1, lifetime * 1_000),
            isNowOrNever: lifetime == 0
        )
        guard xmpp.sendUpstream(message, project: project.id) else {
            return Self.bad("at most \(UpstreamQueue.most) messages wait")
        }
        advanceXMPP(to: now)
        return Self.sent(id)
    }

    private static let upstreamNames: Set<String> = [
        "from", "category", "data", "ttl", "to", "message_id", "project",
    ]

    /// Delivers a message of a device to the other members of its group.
    ///
    /// - Parameter message: in the legacy format, addressed to the group's key.
    private mutating func sendToGroup(
        _ message: JSONObject,
        from: String,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        guard case .group(let group) = groups.lookup(message["to"]?.string ?? "", project: project.id) else {
            return Self.bad("to: the key of a group of this project")
        }
        guard group.members.contains(from) else { return Self.bad("from: not a member of the group") }
        switch LegacyRequest.read(message, body: JSONValue.object(message).jsonBytes) {
        case .failure: return Self.bad("data: not a message")
        case .success(let request):
            let send = Send(project: project, traits: request.traits, source: .legacy(request.body), from: from)
            let others = group.members.filter { $0 != from }
            _ = deliver(send, to: others, messageID: messageID, acceptedMs: now, now: now)
            return Self.sent(messageID)
        }
    }

    /// `POST /drain`: tells all connections, or those of one project, to go elsewhere. New ones are accepted.
    mutating func drainAll(_ object: JSONObject, now: Int64) -> SimulatorReply {
        if let reply = Self.refusal(of: object, known: ["project"]) { return reply }
        var only: String?
        if let value = object["project"] {
            guard let project = value.string.flatMap({ credentials.projects[$0] }) else {
                return Self.bad("project: unknown")
            }
            only = project.id
        }
        let count = xmpp.drainAll(project: only, nowMs: now)
        let body: JSONObject = ["draining": .number(JSONNumber(Int64(count)))]
        return SimulatorReply(status: 200, json: JSONValue.object(body).jsonBytes)
    }

    /// The reference types `data` as a string; its samples show an object.
    private static func isUpstreamData(_ data: JSONValue) -> Bool {
        data.string != nil || data.object?.members.allSatisfy { $0.value.string != nil } == true
    }

    /// The named project, or else the first with which the device registered.
    private func upstreamProject(_ named: JSONValue?, from token: String) -> SimulatedProject? {
        let projects = credentials.projects
        if let named { return named.string.flatMap { projects[$0] } }
        guard let senders = devices[token]?.senders else { return projects.all.first }
        return projects.all.first { senders.contains($0.senderID) }
    }

    private static func sent(_ id: String) -> SimulatorReply {
        SimulatorReply(status: 200, json: JSONValue.object(["message_id": .string(id)]).jsonBytes)
    }
}
