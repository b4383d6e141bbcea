import FanfareJSON

/// What devices say to the app server, and what a test says for them on the control port.
extension Simulator {
    /// `POST /upstream`: a device sends a message to its project's app server, or to its group.
    mutating func sendUpstream(_ object: JSONObject, now: Int64) -> SimulatorReply {
        let known: Set<String> = ["from", "category", "data", "ttl", "to", "message_id", "project"]
        if let stranger = object.members.first(where: { !known.contains($0.key) }) {
            return Self.bad("\(stranger.key): unknown")
        }
        guard let from = object["from"]?.string, Recipients.isToken(from) else { return Self.bad("from: a token") }
        guard !isGone(from, now: now) else { return Self.bad("from: not registered") }
        guard let project = upstreamProject(object["project"], from: from) else { return Self.bad("project: unknown") }
        let category = object["category"]?.string ?? devices[from]?.package ?? "com.example.app"
        guard !category.isEmpty, category.utf8.count <= 255 else { return Self.bad("category: a package") }
        let data = object["data"] ?? .object(JSONObject())
        guard Self.isUpstreamData(data), PayloadSize.of(data) <= 4_096 else {
            return Self.bad("data: a string or an object of strings, at most 4096 bytes")
        }
        let lifetime = object["ttl"].map { $0.number?.int64 } ?? V1Rules.longestTTLSeconds
        guard let lifetime, LegacyRules.isTTL(lifetime) else { return Self.bad("ttl: seconds, 0 to 2419200") }
        let id = object["message_id"]?.string ?? "u-" + streamID()
        guard !id.isEmpty, id.utf8.count <= 4_096 else { return Self.bad("message_id: a string") }
        if let limit = xmpp.upstream.refusal(device: from, project: project.id, now: now) {
            return SimulatorReply(
                status: 429,
                json: JSONValue.object(["error": .string("too many upstream messages of this \(limit)")]).jsonBytes
            )
        }
        if let to = object["to"] {
            guard let data = data.object else { return Self.bad("data: an object, where a group is addressed") }
            let words = GroupWords(from: from, to: to.string ?? "", id: id, lifetimeSeconds: lifetime, data: data)
            return pass(words, project: project, now: now)
        }
        if lifetime == 0, !xmpp.connections.values.contains(where: { $0.project?.id == project.id && $0.takesUpstream })
        {
            xmpp.statistics.upstreamExpired += 1
            return Self.sent(id)
        }
        let message = Upstream.message(
            id: id,
            from: from,
            category: category,
            data: data,
            // Now or never is on its way before it can expire.
            expiresMs: now + max(1, lifetime * 1_000),
            isNowOrNever: lifetime == 0
        )
        guard xmpp.upstream.add(message, project: project.id) else {
            return Self.bad("at most \(UpstreamQueue.most) messages wait")
        }
        settleXMPP(now: now)
        return Self.sent(id)
    }

    /// A message of one member to the others: `sendMessage(_:to:withMessageID:timeToLive:)`.
    private struct GroupWords {
        var from: String
        /// The group's key.
        var to: String
        /// The message id that the sender chose.
        var id: String
        var lifetimeSeconds: Int64
        var data: JSONObject
    }

    /// Delivers a message of a device to the other members of its group, within its lifetime.
    private mutating func pass(_ words: GroupWords, project: SimulatedProject, now: Int64) -> SimulatorReply {
        guard case .group(let group) = groups.lookup(words.to, project: project.id) else {
            return Self.bad("to: the key of a group of this project")
        }
        guard group.members.contains(words.from) else { return Self.bad("from: not a member of the group") }
        let message: JSONObject = [
            "to": .string(words.to), "time_to_live": .number(JSONNumber(words.lifetimeSeconds)),
            "data": .object(words.data),
        ]
        switch LegacyRequest.read(message, body: JSONValue.object(message).jsonBytes) {
        case .failure: return Self.bad("data: not a message")
        case .success(let send):
            _ = deliver(
                to: group.members.filter { $0 != words.from },
                traits: send.traits,
                from: words.from,
                source: .legacy(send.body),
                messageID: words.id,
                project: project,
                now: now
            )
            return Self.sent(words.id)
        }
    }

    /// `POST /drain`: every connection, or those of one project, are told to go elsewhere. New ones are accepted.
    mutating func drainAll(_ object: JSONObject, now: Int64) -> SimulatorReply {
        if let stranger = object.members.first(where: { $0.key != "project" }) {
            return Self.bad("\(stranger.key): unknown")
        }
        var only: String?
        if let value = object["project"] {
            guard let project = value.string.flatMap({ project($0) }) else { return Self.bad("project: unknown") }
            only = project.id
        }
        let found = xmpp.connections.values.filter { connection in
            connection.stage == .bound && !connection.isDraining && (only == nil || connection.project?.id == only)
        }
        for id in found.map(\.id).sorted() { drain(id, now: now) }
        let body: JSONObject = ["draining": .number(JSONNumber(Int64(found.count)))]
        return SimulatorReply(status: 200, json: JSONValue.object(body).jsonBytes)
    }

    /// A device has something: its sender is told, if it asked to be.
    mutating func confirm(_ delivery: Delivery) {
        guard delivery.event == .message, let wish = xmpp.receipts.take(delivery.messageID) else { return }
        let receipt = Upstream.receipt(
            of: wish.original,
            token: delivery.token,
            category: delivery.package ?? "com.example.app",
            sentMs: delivery.timeMs,
            form: devices[delivery.token]?.receipts ?? .object
        )
        if xmpp.upstream.add(receipt, project: wish.project) { xmpp.statistics.receipts += 1 }
    }

    var xmppReport: JSONValue {
        func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
        let counts = xmpp.statistics
        let open = xmpp.connections.values
        return .object([
            "open": number(open.count { $0.stage == .bound }), "draining": number(open.count(where: \.isDraining)),
            "accepted": number(counts.accepted), "refused": number(counts.refused), "acks": number(counts.acks),
            "nacks": number(counts.nacks), "bad_acks": number(counts.badAcks), "receipts": number(counts.receipts),
            "upstream_sent": number(counts.upstreamSent), "upstream_acked": number(counts.upstreamAcked),
            "upstream_expired": number(counts.upstreamExpired),
            "upstream_unacked": number(open.reduce(0) { $0 + $1.unacked.count }),
            "upstream_waiting": number(xmpp.upstream.count),
        ])
    }

    /// What an app can send: the reference types `data` as a string, its samples show an object.
    private static func isUpstreamData(_ data: JSONValue) -> Bool {
        data.string != nil || data.object?.members.allSatisfy { $0.value.string != nil } == true
    }

    private func isGone(_ token: String, now: Int64) -> Bool {
        if case .unregistered = TokenBehaviour(token) { return true }
        return devices.isGone(token, nowMs: now)
    }

    /// The one that was named, or else the first that the device registered with.
    private func upstreamProject(_ named: JSONValue?, from token: String) -> SimulatedProject? {
        if let named { return named.string.flatMap { project($0) } }
        guard let senders = devices[token]?.senders else { return configuration.projects.first }
        return configuration.projects.first { senders.contains($0.senderID) }
    }

    private func project(_ name: String) -> SimulatedProject? {
        configuration.projects.first { $0.id == name || $0.senderID == name }
    }

    private static func sent(_ id: String) -> SimulatorReply {
        SimulatorReply(status: 200, json: JSONValue.object(["message_id": .string(id)]).jsonBytes)
    }
}
