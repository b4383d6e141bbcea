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

    /// Counts a send that its device accepted, delivers the message and returns its id.
    mutating func accept(_ send: Send, for token: String, on platform: Platform, now: Int64) -> String {
        guard !send.isTrial else {
            statistics.accepted += 1
            return Send.trialID
        }
        let id = ids.message(platform, nowMs: now)
        statistics.countAccepted(token: token)
        deliver(send, to: token, messageID: id, acceptedMs: now, now: now)
        return id
    }

    /// Delivers a send to each token whose device accepts it, and returns the refusals in the order of the tokens.
    mutating func deliver(
        _ send: Send,
        to tokens: some Sequence<String>,
        messageID: String,
        acceptedMs: Int64,
        now: Int64
    ) -> [(token: String, reason: DeviceFailure)] {
        var refused: [(token: String, reason: DeviceFailure)] = []
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
    /// - Parameter isNumbered: the message's id is a number.
    /// - Returns: the message's id; nil if the topic refuses sends, or the project has too many active fan-outs.
    mutating func fanOut(_ send: Send, to audience: Audience, isNumbered: Bool, now: Int64) -> String? {
        var send = send
        var id = Send.trialID
        if case .topic(let topic) = audience {
            if topics.refusesSend(to: topic) { return nil }
            send.from = "/topics/" + topic
        }
        if !send.isTrial {
            id = isNumbered ? String(ids.topicMessage()) : ids.message(.android, nowMs: now)
            let (kind, target): (Fanout.Kind, String) =
                switch audience {
                case .topic(let topic): (.topic, topic)
                case .condition(let condition): (.condition, condition.text)
                }
            let fanout = Fanout(
                project: send.project.id,
                kind: kind,
                target: target,
                messageID: id,
                recipients: topics.recipientCount(audience, devices: devices),
                acceptedMs: now,
                message: FanoutMessage(audience: audience, send: send)
            )
            guard fanouts.start(fanout) else { return nil }
        }
        statistics.accepted += 1
        return id
    }

    /// Delivers the message of a fan-out that has ended to the present subscribers, so that no audience is stored.
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

    /// Delivers a send to a group at once, because the answer counts the members. It is still a fan-out of its project.
    mutating func deliver(_ send: Send, toGroup key: String, _ group: Groups.Group, now: Int64) -> GroupOutcome {
        let members = group.members
        var id = Send.trialID
        if !send.isTrial {
            id = ids.message(.android, nowMs: now)
            let fanout = Fanout(
                project: send.project.id,
                kind: .group,
                target: key,
                messageID: id,
                recipients: members.count,
                acceptedMs: now
            )
            guard fanouts.start(fanout) else { return .tooMany }
        }
        let refused = deliver(send, to: members, messageID: id, acceptedMs: now, now: now)
        guard members.isEmpty || refused.count < members.count else {
            let areGone = refused.allSatisfy(\.reason.isUnregistered)
            return .failed(members, areGone: areGone, areNamed: group.namesAll)
        }
        return .sent(success: members.count - refused.count, failed: refused.map(\.token))
    }
}
