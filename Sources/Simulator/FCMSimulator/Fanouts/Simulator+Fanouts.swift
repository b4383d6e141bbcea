extension Simulator {
    /// Serves tokens when the fan-out that carries their message ends: whoever is subscribed by then, so that nothing is
    /// kept of a large audience in the meantime.
    mutating func deliver(_ message: FanoutMessage, of fanout: Fanout, now: Int64) {
        let tokens: [String]
        switch message.audience {
        case .topic(let topic): tokens = subscriptions.tokens(topic: topic)
        case .condition(let condition): tokens = self.tokens(matching: condition).sorted()
        }
        // More than are kept for reading need not be made.
        _ = deliver(
            to: tokens.prefix(configuration.deliveryLimit),
            traits: message.traits,
            from: message.from,
            source: message.source,
            messageID: fanout.messageID,
            project: message.project,
            acceptedMs: fanout.acceptedMs,
            now: now
        )
    }

    /// - Returns: the devices that could not take the message, in their order.
    mutating func deliver(
        to tokens: some Sequence<String>,
        traits: MessageTraits,
        from: String? = nil,
        source: Delivery.Source,
        messageID: String,
        project: SimulatedProject,
        acceptedMs: Int64? = nil,
        now: Int64
    ) -> [(token: String, reason: DeviceRefusal)] {
        var failed: [(token: String, reason: DeviceRefusal)] = []
        for token in tokens {
            if case .refused(let reason) = ask(token, traits: traits, project: project, now: now) {
                failed.append((token, reason))
                continue
            }
            post(
                AcceptedMessage(
                    token: token,
                    messageID: messageID,
                    senderID: project.senderID,
                    from: from,
                    source: source,
                    acceptedMs: acceptedMs ?? now
                ),
                traits: traits,
                now: now
            )
        }
        return failed
    }

    /// Starts the fan-out of one message to a topic or a condition; false when the project has too many under way.
    mutating func startFanout(
        to audience: FanoutMessage.Audience,
        traits: MessageTraits,
        source: Delivery.Source,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) -> Bool {
        let kind: Fanout.Kind
        let target: String
        let from: String
        let recipients: Int
        switch audience {
        case .topic(let topic):
            (kind, target, from) = (.topic, topic, "/topics/" + topic)
            recipients = subscriptions.count(topic: topic) + subscriptions.anonymousCount(topic: topic)
        case .condition(let condition):
            (kind, target, from) = (.condition, condition.text, project.senderID)
            recipients = tokens(matching: condition).count + subscriptions.anonymousCount(matching: condition)
        }
        let message = FanoutMessage(
            audience: audience,
            traits: traits,
            source: source,
            from: from,
            project: project
        )
        return startFanout(
            kind,
            target: target,
            recipients: recipients,
            message: message,
            messageID: messageID,
            project: project,
            now: now
        )
    }

    /// A group's members are served at once, since the answer tells how many took the message; they load the project's
    /// capacity all the same.
    mutating func startGroupFanout(
        _ key: String,
        members: Int,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) -> Bool {
        startFanout(
            .group,
            target: key,
            recipients: members,
            message: nil,
            messageID: messageID,
            project: project,
            now: now
        )
    }

    private mutating func startFanout(
        _ kind: Fanout.Kind,
        target: String,
        recipients: Int,
        message: FanoutMessage?,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) -> Bool {
        let fanout = Fanout(
            project: project.id,
            kind: kind,
            target: target,
            messageID: messageID,
            recipients: recipients,
            acceptedMs: now
        )
        guard fanouts.start(fanout, message: message) else { return false }
        statistics.maxActiveFanouts = max(statistics.maxActiveFanouts, fanouts.activeCount(project: project.id))
        return true
    }

    private func tokens(matching condition: Condition) -> Set<String> {
        subscriptions.tokens(matching: condition, described: devices.names)
    }

    func listFanouts(_ query: String) -> SimulatorReply {
        let project = FormText.pairs(Array(query.utf8))?.last { $0.name == "project" }?.value
        var body: [UInt8] = []
        for fanout in fanouts.list(project: project) { body += fanout.line }
        return SimulatorReply(
            status: 200,
            headers: [SimulatorReply.Header("content-type", "application/x-ndjson")],
            body: body
        )
    }
}
