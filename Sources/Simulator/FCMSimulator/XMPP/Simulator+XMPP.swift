import FanfareJSON
public import FanfareXML

/// XMPP. A server passes on what it read, and after every call of any kind carries out ``removeXMPPOutput()``.
extension Simulator {
    /// Returns the number of a new connection; nil if there are too many.
    public mutating func openXMPP() -> UInt64? { xmpp.open() }

    public mutating func receiveXMPP(_ event: XMLStreamEvent, on id: UInt64, nowMs: Int64) {
        let now = nowMs &+ clockOffsetMs
        advance(to: now)
        let isHandshake = xmpp.connections[id]?.stage != .bound
        let input = xmpp.receive(event, on: id, projects: credentials.projects, ids: &ids, nowMs: now)
        if let input { answer(input, on: id, now: now) }
        // Upstream messages follow the handshake with the next call.
        if !isHandshake { advanceXMPP(to: now) }
    }

    /// The client's bytes were not well-formed XML, or not of an allowed kind: ends the stream with an error.
    public mutating func failXMPP(_ id: UInt64, reason: String) {
        xmpp.fail(id, "not-well-formed", text: reason, ids: &ids)
    }

    /// The client has gone, or the server has closed the connection.
    public mutating func closedXMPP(_ id: UInt64, nowMs: Int64) {
        xmpp.forget(id)
        advanceXMPP(to: nowMs &+ clockOffsetMs)
    }

    /// Performs what is due. Call it at ``xmppDueMs(nowMs:)``.
    public mutating func tick(nowMs: Int64) { advance(to: nowMs &+ clockOffsetMs) }

    /// When to call ``tick(nowMs:)`` next, Unix milliseconds; nil while nothing waits.
    public func xmppDueMs(nowMs: Int64) -> Int64? {
        xmpp.dueMs(nowMs: nowMs &+ clockOffsetMs).map { $0 &- clockOffsetMs }
    }

    /// Returns the instructions to the server since the last call. It skips those for a connection that is gone.
    public mutating func removeXMPPOutput() -> [XMPPOutput] { xmpp.removeOutput() }

    /// Performs what is due: delayed answers, stanzas that waited for room, ends of connections, receipts, upstream.
    mutating func advanceXMPP(to now: Int64) {
        for id in xmpp.timedConnections {
            xmpp.writeDueAnswers(on: id, nowMs: now)
            while let input = xmpp.nextInput(on: id, ids: &ids, nowMs: now) { answer(input, on: id, now: now) }
            xmpp.finish(id, nowMs: now)
        }
        for delivery in messages.removeConfirmed() {
            xmpp.upstream.addReceipt(for: delivery, form: devices[delivery.accepted.token]?.receipts ?? .object)
        }
        xmpp.distributeUpstream(nowMs: now)
    }

    // MARK: Downstream messages

    private mutating func answer(_ input: XMPPInput, on id: UInt64, now: Int64) {
        statistics.requests += 1
        switch input {
        case .malformed(let code): statistics.countRejected(code)
        case .downstream(let message): answer(message, on: id, now: now)
        }
    }

    private mutating func answer(_ message: XMPPSend, on id: UInt64, now: Int64) {
        // A draining connection refuses messages unread, so they count for nothing.
        guard let connection = xmpp.connections[id], !connection.isDraining else {
            return xmpp.refuse(message, "CONNECTION_DRAINING", on: id, nowMs: now)
        }
        var message = message
        var delayMs: Int64 = 0
        if let fault = faults.hit(path: Faults.xmppPath, random: &ids.random, hasToken: message.hasToken) {
            if case .close? = fault.wire { return xmpp.end(id) }
            if fault.isDraining {
                xmpp.drain(id, nowMs: now)
                return xmpp.refuse(message, "CONNECTION_DRAINING", on: id, nowMs: now)
            }
            if let stanza = fault.stanza { xmpp.write(stanza, on: id) }
            message.hidesID = fault.hidesID
            delayMs = fault.delayMs
            if let code = fault.nack { return xmpp.refuse(message, code, delayMs: delayMs, on: id, nowMs: now) }
        }
        guard !connection.isUnanswered(message.messageID) else {
            statistics.countRejected("INVALID_JSON")
            let text = "InvalidJson: message_id is in use by a message without an answer"
            return xmpp.refuse(message, "INVALID_JSON", text: text, on: id, nowMs: now)
        }
        guard let project = connection.project, quotas.consume(1, project: project.id, nowMs: now) else {
            return xmpp.refuse(message, "SERVICE_UNAVAILABLE", delayMs: delayMs, on: id, nowMs: now)
        }
        statistics.sends += 1
        switch perform(message, project: project, now: now) {
        case .refused(let code, let more):
            statistics.countRejected(code)
            xmpp.refuse(message, code, more: more, delayMs: delayMs, on: id, nowMs: now)
        case .lost: xmpp.end(id)
        case .accepted(let more, let ownDelayMs):
            xmpp.acknowledge(message, more: more, delayMs: max(delayMs, ownDelayMs), on: id, nowMs: now)
        }
    }

    private enum Answer {
        /// With further members of the ack.
        case accepted(JSONObject, delayMs: Int64)
        /// With a nack's code and its further members.
        case refused(String, more: JSONObject = JSONObject())
        /// The message was accepted, and the connection ends before its ack.
        case lost
    }

    private mutating func perform(_ message: XMPPSend, project: SimulatedProject, now: Int64) -> Answer {
        let send = Send(
            project: project,
            traits: message.send.traits,
            source: .legacy(message.send.body),
            isTrial: message.send.dryRun,
            wantsReceipt: message.wantsReceipt
        )
        switch message.send.target {
        case .single(let to):
            guard case .group(let group) = groups.lookup(to, project: project.id) else {
                return sendToDevice(send, to, messageID: message.messageID, now: now)
            }
            return sendToGroup(send, key: to, group, now: now)
        case .audience(let audience):
            let id = fanOut(send, to: audience, isNumbered: true, now: now)
            return id == nil ? .refused("TOPICS_MESSAGE_RATE_EXCEEDED") : .accepted(JSONObject(), delayMs: 0)
        // XMPPReader refuses it.
        case .multicast: return .refused("INVALID_JSON")
        }
    }

    private mutating func sendToDevice(_ send: Send, _ token: String, messageID: String, now: Int64) -> Answer {
        switch admit(send, to: token, now: now) {
        case .refused(let failure): return .refused(failure.nackCode)
        case .accepted(let platform, let canonical, let delayMs, let isLost):
            let id = accept(send, for: token, on: platform, now: now)
            // APNs reports no arrivals.
            if send.wantsReceipt, !send.isTrial, platform != .apple {
                let expiresMs = now + UpstreamQueue.longestMs
                let receipt = AwaitedReceipt(project: send.project.id, original: messageID, expiresMs: expiresMs)
                xmpp.upstream.awaitReceipt(receipt, messageID: id, nowMs: now)
            }
            guard !isLost else { return .lost }
            var more = JSONObject()
            if let canonical { more["registration_id"] = .string(canonical) }
            return .accepted(more, delayMs: delayMs)
        }
    }

    private mutating func sendToGroup(_ send: Send, key: String, _ group: Groups.Group, now: Int64) -> Answer {
        switch deliver(send, toGroup: key, group, now: now) {
        case .tooMany: return .refused("TOPICS_MESSAGE_RATE_EXCEEDED")
        // The documents show no counts in a nack. A nack that names members has them, to differ from a device's nack.
        case .failed(let members, _, areNamed: true):
            return .refused("SERVICE_UNAVAILABLE", more: LegacyReply.groupCounts(success: 0, failed: members))
        case .failed(_, let areGone, _): return .refused(areGone ? "DEVICE_UNREGISTERED" : "SERVICE_UNAVAILABLE")
        case .sent(let success, let failed):
            statistics.accepted += 1
            return .accepted(LegacyReply.groupCounts(success: success, failed: failed), delayMs: 0)
        }
    }
}

extension XMPPSend {
    func hasToken(_ prefix: String) -> Bool {
        if case .single(let to) = send.target { return to.hasExactPrefix(prefix) }
        return false
    }
}
