import FanfareJSON
import FanfareXML

/// Stanzas on a connection that is bound.
extension Simulator {
    mutating func hear(_ element: XMLElement, on id: UInt64, now: Int64) {
        guard let connection = xmpp.connections[id], let project = connection.project else { return }
        switch element.name {
        case XMLName("message", in: XMPPNames.client):
            // What a client could not read of ours is its own affair.
            guard element.attributes["type"] != "error" else { return }
            guard let body = element.child("gcm", in: XMPPNames.data) else {
                return endStream(id, "invalid-xml", "a message without gcm of \(XMPPNames.data)")
            }
            hear(Array(body.text.utf8), stanza: element.attributes["id"] ?? "", on: id, project: project, now: now)
        case XMLName("iq", in: XMPPNames.client): answerQuery(element, on: connection)
        case XMLName("presence", in: XMPPNames.client): return
        default: endStream(id, "unsupported-stanza-type", "expected message, iq or presence")
        }
    }

    private mutating func answerQuery(_ element: XMLElement, on connection: XMPPConnection) {
        let request = element.attributes["id"] ?? ""
        guard ["get", "set"].contains(element.attributes["type"]) else { return }
        if element.child("session", in: XMPPNames.session) != nil {
            xmpp.write(XMPPText.result(id: request, to: connection.jid), on: connection.id)
        } else {
            xmpp.write(XMPPText.iqError(id: request, "service-unavailable"), on: connection.id)
        }
    }

    private mutating func hear(
        _ json: [UInt8],
        stanza: String,
        on id: UInt64,
        project: SimulatedProject,
        now: Int64
    ) {
        switch XMPPReader.read(json) {
        case .unreadable(let text):
            statistics.requests += 1
            statistics.countRejected("INVALID_JSON")
            xmpp.write(XMPPText.messageError(id: stanza, json: json, text), on: id)
        case .refused(let nack):
            if nack.error == "BAD_ACK" {
                xmpp.statistics.badAcks += 1
            } else {
                statistics.requests += 1
                statistics.countRejected(nack.error)
            }
            refuse(nack, on: id, now: now)
        case .ack(let to, let messageID): take(ackOf: messageID, to: to, on: id, now: now)
        case .downstream(let message): take(message, on: id, project: project, now: now)
        }
    }

    /// An ack counts on the connection that carried the message, and nowhere else; a second one does no harm.
    private mutating func take(ackOf messageID: String, to: String, on id: UInt64, now: Int64) {
        guard let items = xmpp.connections[id]?.unacked,
            let place = items.firstIndex(where: { $0.messageID == messageID })
        else { return }
        guard items[place].isFor(to) else {
            xmpp.statistics.badAcks += 1
            let text = "The ack's to is not the sender of the message"
            return refuse(XMPPNack(messageID: messageID, from: to, error: "BAD_ACK", text: text), on: id, now: now)
        }
        xmpp.connections[id]?.unacked.remove(at: place)
        xmpp.statistics.upstreamAcked += 1
    }

    // MARK: Downstream

    private mutating func take(_ message: XMPPSend, on id: UInt64, project: SimulatedProject, now: Int64) {
        guard let connection = xmpp.connections[id] else { return }
        func nack(_ code: String, _ text: String? = nil) -> XMPPNack {
            XMPPNack(
                messageID: message.messageID,
                from: message.to,
                error: code,
                text: text ?? DeviceRefusal.nackText(code, to: message.to)
            )
        }
        statistics.requests += 1
        // What a draining connection carries was not looked at, and so it counts for nothing.
        guard !connection.isDraining else { return refuse(nack("CONNECTION_DRAINING"), on: id, now: now) }
        var delayMs: Int64 = 0
        if let fault = faults.hit(path: XMPPFault.path, random: &random, hasToken: message.hasToken) {
            if case .close? = fault.wire { return xmpp.end(id) }
            if fault.isDraining {
                drain(id, now: now)
                return refuse(nack("CONNECTION_DRAINING"), on: id, now: now)
            }
            delayMs = fault.delayMs
            if let code = fault.nack { return refuse(nack(code), delayMs: delayMs, on: id, now: now) }
        }
        guard !connection.answers.contains(where: { $0.messageID == message.messageID }) else {
            statistics.countRejected("INVALID_JSON")
            let text = "InvalidJson: message_id is in use by a message without an answer"
            return refuse(nack("INVALID_JSON", text), on: id, now: now)
        }
        guard takeQuota(project, count: 1, now: now) else {
            return refuse(nack("SERVICE_UNAVAILABLE"), delayMs: delayMs, on: id, now: now)
        }
        statistics.sends += 1
        switch answer(message, project: project, now: now) {
        case .refused(let code, let more):
            statistics.countRejected(code)
            var nack = nack(code)
            nack.more = more
            refuse(nack, delayMs: delayMs, on: id, now: now)
        case .lost: xmpp.end(id)
        case .accepted(let more, let ownDelayMs):
            xmpp.statistics.acks += 1
            var json: JSONObject = [
                "from": .string(message.to), "message_id": .string(message.messageID), "message_type": "ack",
            ]
            json.members += more.members
            say(json, of: message.messageID, afterMs: max(delayMs, ownDelayMs), on: id, now: now)
        }
    }

    private enum Answer {
        case accepted(JSONObject, delayMs: Int64)
        case refused(String, more: JSONObject = JSONObject())
        /// The message was taken, and the connection ends before anybody says so.
        case lost
    }

    private mutating func answer(_ message: XMPPSend, project: SimulatedProject, now: Int64) -> Answer {
        switch message.send.target {
        case .single(let to):
            guard case .group(let group) = groups.lookup(to, project: project.id) else {
                return sendToDevice(message, to, project: project, now: now)
            }
            return sendToGroup(message, key: to, group, project: project, now: now)
        case .topic(let topic):
            guard !stillFails("topic:" + topic, times: TokenBehaviour.topicRefusals(topic)) else {
                return .refused("TOPICS_MESSAGE_RATE_EXCEEDED")
            }
            return fanOut(message, to: .topic(topic), project: project, now: now)
        case .condition(let condition): return fanOut(message, to: .condition(condition), project: project, now: now)
        // The reader lets none through.
        case .multicast: return .refused("INVALID_JSON")
        }
    }

    private mutating func sendToDevice(
        _ message: XMPPSend,
        _ token: String,
        project: SimulatedProject,
        now: Int64
    ) -> Answer {
        let send = message.send
        switch ask(token, traits: send.traits, project: project, isTrial: send.dryRun, now: now) {
        case .refused(let refusal): return .refused(refusal.nackCode)
        case .accepted(let platform, let canonical, let delayMs, let isLost):
            if send.dryRun {
                statistics.accepted += 1
            } else {
                let id = messageID(platform, now: now)
                statistics.countAccepted(token: token)
                // Nothing that goes through Apple says when it arrived.
                if message.wantsReceipt, platform != .apple {
                    let wish = ReceiptWishes.Wish(
                        project: project.id,
                        original: message.messageID,
                        expiresMs: now + UpstreamQueue.longestMs
                    )
                    xmpp.receipts.add(wish, messageID: id, now: now)
                }
                post(
                    AcceptedMessage(
                        token: token,
                        messageID: id,
                        senderID: project.senderID,
                        source: .legacy(send.body),
                        acceptedMs: now
                    ),
                    traits: send.traits,
                    now: now
                )
            }
            guard !isLost else { return .lost }
            var more = JSONObject()
            if let canonical { more["registration_id"] = .string(canonical) }
            return .accepted(more, delayMs: delayMs)
        }
    }

    private mutating func sendToGroup(
        _ message: XMPPSend,
        key: String,
        _ group: Groups.Group,
        project: SimulatedProject,
        now: Int64
    ) -> Answer {
        func counts(_ success: Int, _ failed: [String]) -> JSONObject {
            var object: JSONObject = [
                "success": .number(JSONNumber(Int64(success))), "failure": .number(JSONNumber(Int64(failed.count))),
            ]
            if !failed.isEmpty { object["failed_registration_ids"] = .array(failed.map { .string($0) }) }
            return object
        }
        let outcome = send(
            toGroup: key,
            group,
            traits: message.send.traits,
            source: .legacy(message.send.body),
            isTrial: message.send.dryRun,
            project: project,
            now: now
        )
        switch outcome {
        case .tooMany: return .refused("TOPICS_MESSAGE_RATE_EXCEEDED")
        case .failed(let members, let areGone, let areNamed):
            // The documents show no counts in a nack. With names it needs them: they mark these as a group's members.
            let code = areGone ? "DEVICE_UNREGISTERED" : "SERVICE_UNAVAILABLE"
            return .refused(areNamed ? "SERVICE_UNAVAILABLE" : code, more: areNamed ? counts(0, members) : JSONObject())
        case .empty:
            statistics.accepted += 1
            return .accepted(counts(0, []), delayMs: 0)
        case .sent(let success, let failed):
            statistics.accepted += 1
            return .accepted(counts(success, failed), delayMs: 0)
        }
    }

    private mutating func fanOut(
        _ message: XMPPSend,
        to audience: FanoutMessage.Audience,
        project: SimulatedProject,
        now: Int64
    ) -> Answer {
        if !message.send.dryRun {
            let isStarted = startFanout(
                to: audience,
                traits: message.send.traits,
                source: .legacy(message.send.body),
                messageID: String(Int64(random.next() >> 1) | 1 << 62),
                project: project,
                now: now
            )
            guard isStarted else { return .refused("TOPICS_MESSAGE_RATE_EXCEEDED") }
        }
        statistics.accepted += 1
        return .accepted(JSONObject(), delayMs: 0)
    }

    // MARK: Answers

    private mutating func refuse(_ nack: XMPPNack, delayMs: Int64 = 0, on id: UInt64, now: Int64) {
        xmpp.statistics.nacks += 1
        say(nack.json, of: nack.messageID, afterMs: delayMs, on: id, now: now)
    }

    private mutating func say(
        _ json: JSONObject,
        of messageID: String,
        afterMs: Int64,
        on id: UInt64,
        now: Int64
    ) {
        guard let connection = xmpp.connections[id] else { return }
        let stanza = XMPPText.message(JSONValue.object(json).jsonBytes, to: connection.jid)
        guard afterMs > 0 else { return xmpp.write(stanza, on: id) }
        xmpp.connections[id]?.answers.append(.init(messageID: messageID, stanza: stanza, dueMs: now + afterMs))
        xmpp.timed.insert(id)
        guard connection.isReading, connection.answers.count + 1 >= XMPPConnection.window else { return }
        xmpp.connections[id]?.isReading = false
        xmpp.outbox.append(XMPPOutput(connection: id, action: .pauseReading))
    }
}

extension XMPPSend {
    func hasToken(_ prefix: String) -> Bool {
        if case .single(let to) = send.target { return to.hasPrefix(prefix) }
        return false
    }
}
