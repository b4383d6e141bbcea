import FanfareJSON

/// Messages from devices, which a test sends for them on the control port.
extension Simulator {
    /// `POST /upstream`: a device sends a message to its app server or group. Returns the message's id.
    mutating func sendUpstream(_ object: JSONObject, now: Int64) throws(ControlError) -> String {
        try object.refuseNames(except: ["from", "category", "data", "ttl", "to", "message_id", "project"])
        guard let from = object["from"]?.string, Recipients.isToken(from) else { throw ControlError("from: a token") }
        guard TokenBehaviour(from) != .refused(.unregistered), !devices.isGone(from, nowMs: now) else {
            throw ControlError("from: not registered")
        }
        guard let project = upstreamProject(object["project"], from: from) else {
            throw ControlError("project: unknown")
        }
        let category = object["category"]?.string ?? devices[from]?.package ?? "com.example.app"
        guard !category.isEmpty, category.utf8.count <= 255 else { throw ControlError("category: a package") }
        let data = object["data"] ?? .object(JSONObject())
        guard Self.isUpstreamData(data), PayloadSize.of(data) <= 4_096 else {
            throw ControlError("data: a string or an object of strings, at most 4096 bytes")
        }
        let longest = V1Rules.longestTTLSeconds
        let lifetime = try object.integer("ttl", 0...longest, orElse: "ttl: seconds, 0 to 2419200") ?? longest
        let id = object["message_id"]?.string ?? "u-" + ids.stream()
        guard !id.isEmpty, id.utf8.count <= 4_096 else { throw ControlError("message_id: a string") }
        if let limit = xmpp.upstream.reachedLimit(device: from, project: project.id, nowMs: now) {
            throw ControlError("too many upstream messages of this \(limit)", status: 429)
        }
        if let to = object["to"] {
            guard let data = data.object else { throw ControlError("data: an object, where a group is addressed") }
            let message: JSONObject = [
                "to": .string(to.string ?? ""), "time_to_live": .integer(lifetime), "data": .object(data),
            ]
            try sendToGroup(message, from: from, messageID: id, project: project, now: now)
            return id
        }
        let json: JSONObject = [
            "from": .string(from), "category": .string(category), "message_id": .string(id), "data": data,
        ]
        let message = Upstream(
            messageID: id,
            from: from,
            json: JSONValue.object(json).jsonBytes,
            // A message that is never stored is sent before it can expire.
            expiresMs: now + max(1, lifetime * 1_000),
            isNowOrNever: lifetime == 0
        )
        guard xmpp.sendUpstream(message, project: project.id) else {
            throw ControlError("at most \(UpstreamQueue.most) messages wait")
        }
        advanceXMPP(to: now)
        return id
    }

    /// Delivers a message in the legacy format from a device to the other members of its group.
    private mutating func sendToGroup(
        _ message: JSONObject,
        from: String,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) throws(ControlError) {
        guard case .group(let group) = groups.lookup(message["to"]?.string ?? "", project: project.id) else {
            throw ControlError("to: the key of a group of this project")
        }
        guard group.members.contains(from) else { throw ControlError("from: not a member of the group") }
        guard let request = try? LegacyRequest.read(message, body: JSONValue.object(message).jsonBytes) else {
            throw ControlError("data: not a message")
        }
        let send = Send(project: project, traits: request.traits, source: .legacy(request.body), from: from)
        let others = group.members.filter { !$0.isExactly(from) }
        _ = deliver(send, to: others, messageID: messageID, acceptedMs: now, now: now)
    }

    /// `POST /drain`: drains all connections, or one project's, and returns their number. New ones are accepted.
    mutating func drainAll(_ object: JSONObject, now: Int64) throws(ControlError) -> Int {
        try object.refuseNames(except: ["project"])
        var only: String?
        if let value = object["project"] {
            guard let project = value.string.flatMap({ credentials.projects[$0] }) else {
                throw ControlError("project: unknown")
            }
            only = project.id
        }
        return xmpp.drainAll(project: only, nowMs: now)
    }

    /// The reference types `data` as a string; its samples show an object.
    private static func isUpstreamData(_ data: JSONValue) -> Bool {
        data.string != nil || data.object?.members.allSatisfy { $0.value.string != nil } == true
    }

    /// The named project, or else the first with which the device registered.
    private func upstreamProject(_ named: JSONValue?, from token: String) -> SimulatedProject? {
        let projects = credentials.projects
        if let named { return named.string.flatMap { projects[$0] } }
        guard let senders = devices[token]?.senders else { return projects.first }
        return projects.first { senders.contains($0.senderID) }
    }
}
