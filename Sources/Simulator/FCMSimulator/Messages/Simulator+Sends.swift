/// A send to a device, a group, a topic or a condition: what all protocols share.
extension Simulator {
    // MARK: Devices

    /// Asks the device behind a token whether it accepts the send.
    mutating func admit(_ send: Send, to token: String, now: Int64) -> DeviceOutcome {
        guard Recipients.isToken(token) else { return .refused(.invalid) }
        // The key of a group is no token, whichever project the group belongs to.
        switch groups.lookup(token, project: "") {
        case .notAGroup: break
        case .gone: return .refused(.unregistered)
        case .group, .foreign: return .refused(.invalid)
        }
        return devices.admit(
            token,
            traits: send.traits,
            senderID: send.project.senderID,
            isTrial: send.isTrial,
            nowMs: now
        )
    }

    /// Counts a send that its device accepted, and delivers the message.
    ///
    /// - Returns: the message's id.
    mutating func accept(_ send: Send, for token: String, on platform: Platform, now: Int64) -> String {
        guard !send.isTrial else {
            statistics.countAccepted()
            return Send.trialID
        }
        let id = ids.message(platform, nowMs: now)
        statistics.countAccepted(token: token)
        deliver(send, to: token, messageID: id, acceptedMs: now, now: now)
        return id
    }

    /// Delivers a send to each token whose device accepts it.
    ///
    /// - Returns: the devices that refused, in the order of their tokens.
    mutating func deliver(
        _ send: Send,
        to tokens: some Sequence<String>,
        messageID: String,
        acceptedMs: Int64,
        now: Int64
    ) -> [(token: String, reason: DeviceRefusal)] {
        var refused: [(token: String, reason: DeviceRefusal)] = []
        for token in tokens {
            if case .refused(let reason) = admit(send, to: token, now: now) {
                refused.append((token, reason))
            } else if !send.isTrial {
                deliver(send, to: token, messageID: messageID, acceptedMs: acceptedMs, now: now)
            }
        }
        return refused
    }

    private mutating func deliver(_ send: Send, to token: String, messageID: String, acceptedMs: Int64, now: Int64) {
        messages.deliver(
            AcceptedMessage(
                token: token,
                messageID: messageID,
                senderID: send.project.senderID,
                from: send.from,
                source: send.source,
                acceptedMs: acceptedMs,
                wantsReceipt: send.wantsReceipt
            ),
            traits: send.traits,
            to: &devices,
            ids: &ids,
            nowMs: now
        )
    }

    // MARK: Topics and conditions

    /// Starts the fan-out of a send to a topic or a condition.
    ///
    /// - Returns: false if the project has too many active fan-outs.
    mutating func fanOut(_ send: Send, to audience: FanoutMessage.Audience, messageID: String, now: Int64) -> Bool {
        var send = send
        let fanout: Fanout
        let count = topics.recipientCount(audience, devices: devices)
        let project = send.project.id
        switch audience {
        case .topic(let topic):
            fanout = Fanout(project, .topic, topic, messageID: messageID, recipients: count, acceptedMs: now)
            send.from = "/topics/" + topic
        case .condition(let condition):
            let text = condition.text
            fanout = Fanout(project, .condition, text, messageID: messageID, recipients: count, acceptedMs: now)
        }
        return fanouts.start(fanout, message: FanoutMessage(audience: audience, send: send))
    }

    /// Delivers the message of a fan-out that has ended to those subscribed now: nothing is kept of a large audience in
    /// the meantime.
    mutating func finish(_ fanout: Fanout, _ message: FanoutMessage, now: Int64) {
        let tokens = topics.tokens(message.audience, devices: devices)
        // More deliveries than are kept for reading need not be made.
        _ = deliver(
            message.send,
            to: tokens.prefix(configuration.deliveryLimit),
            messageID: fanout.messageID,
            acceptedMs: fanout.acceptedMs,
            now: now
        )
    }

    // MARK: Groups

    /// Delivers a send to the members of a group at once, because the answer tells how many accepted it. The group
    /// still counts as a fan-out against the project's capacity.
    mutating func deliver(_ send: Send, toGroup key: String, _ group: Groups.Group, now: Int64) -> GroupOutcome {
        let members = group.members
        var id = Send.trialID
        if !send.isTrial {
            id = ids.message(.android, nowMs: now)
            let project = send.project.id
            let fanout = Fanout(project, .group, key, messageID: id, recipients: members.count, acceptedMs: now)
            guard fanouts.start(fanout, message: nil) else { return .tooMany }
        }
        let refused = deliver(send, to: members, messageID: id, acceptedMs: now, now: now)
        if members.isEmpty { return .empty }
        guard refused.count < members.count else {
            let areGone = refused.allSatisfy(\.reason.isUnregistered)
            return .failed(members, areGone: areGone, areNamed: group.namesAll)
        }
        return .sent(success: members.count - refused.count, failed: refused.map(\.token))
    }
}
