internal import FanfareJSON
internal import FanfareModel

/// Messages and acknowledgements, in both directions, once a resource is bound.
extension XMPPSession {
    mutating func send(tag: UInt64, messageID: String, to: String, json: [UInt8], nowMs: Int64) -> [Action] {
        guard room > 0 else { return [.complete(tag: tag, .unsent(reason: "the connection takes no message now"))] }
        guard !window.contains(messageID) else {
            return [.complete(tag: tag, .unsent(reason: "a message of that id is under way"))]
        }
        window.insert(tag: tag, messageID: messageID, to: to, start: written, deadlineMs: nowMs + settings.ackMs)
        return [.write(XMPPStanza.message(id: messageID, json: json))]
    }

    mutating func acknowledge(_ number: UInt64) -> [Action] {
        guard phase == .ready || phase == .draining, let ack = acks.acknowledge(number) else { return [] }
        return [.write(XMPPStanza.ack(to: ack.to, messageID: ack.messageID))]
    }

    mutating func served(_ arrival: XMPPArrival) -> [Action] {
        switch arrival {
        case .answer(let messageID?, _, let nack, let json): return answered(messageID, nack: nack, json)
        case .answer(nil, let from, let nack, let json): return answeredWithoutID(from: from, nack: nack, json)
        case .incoming(let incoming):
            guard !acks.isFull else { return close("\(XMPPAckBook.maximumOwed) messages without an acknowledgement") }
            return [.deliver(incoming, number: acks.owe(to: incoming.from, messageID: incoming.messageID))]
        case .control("CONNECTION_DRAINING"): return drain()
        case .control(let type): return [.report(.unknownControl(type))]
        case .rejection(let rejection): return rejected(rejection)
        // Nothing depends on a session.
        case .iq("result", XMPPStanza.sessionID, _), .iq("error", XMPPStanza.sessionID, _): return []
        case .iq("get", let id, _), .iq("set", let id, _): return [.write(XMPPStanza.notServed(id: id))]
        case .unexpected(let what): return [.report(.unexpected(what))]
        case .features, .authenticated, .refused, .iq, .streamError:
            return [.report(.unexpected("an unexpected \(arrival.word)"))]
        }
    }

    private mutating func drain() -> [Action] {
        guard phase == .ready else { return [] }
        phase = .draining
        return [.startedDraining]
    }

    private mutating func answered(_ messageID: String, nack: String?, _ json: [UInt8]) -> [Action] {
        // Its id is that of a message from FCM, which may equal one of ours.
        if nack == "BAD_ACK" { return badAck(messageID) }
        guard let entry = window.remove(messageID) else {
            let what = "an answer to a message that is not unanswered: \(RawError.clean(messageID))"
            return [.report(.unexpected(what))]
        }
        return [.complete(tag: entry.tag, .stanza(json))] + (nack == "CONNECTION_DRAINING" ? drain() : [])
    }

    /// FCM's documentation prints the ack of a group's partial success without an id. FCM processes messages in order,
    /// so such an answer belongs to the oldest unanswered message to its `from`.
    private mutating func answeredWithoutID(from: String, nack: String?, _ json: [UInt8]) -> [Action] {
        guard nack != "BAD_ACK", let entry = window.removeOldest(to: from) else {
            return [.report(.unexpected("\(nack == nil ? "an ack" : "a nack") without a message_id"))]
        }
        var object = XMPPArrival.object(json) ?? JSONObject()
        object["message_id"] = .string(entry.messageID)
        let answer = RequestOutcome.stanza(JSONValue.object(object).jsonBytes)
        return [.complete(tag: entry.tag, answer)] + (nack == "CONNECTION_DRAINING" ? drain() : [])
    }

    private mutating func badAck(_ messageID: String) -> [Action] {
        guard let ack = acks.refused(messageID) else {
            return [.report(.badAck(messageID: RawError.clean(messageID), isRepeated: false))]
        }
        return [
            .report(.badAck(messageID: RawError.clean(messageID), isRepeated: true)),
            .write(XMPPStanza.ack(to: ack.to, messageID: ack.messageID)),
        ]
    }

    /// Finds the refused message by the stanza's id or by the JSON that came back. Without either, no new message is sent:
    /// FCM answers all that it could read, and the message that has no answer in time is the refused one.
    private mutating func rejected(_ rejection: XMPPRejection) -> [Action] {
        if rejection.stanzaID.hasPrefix(XMPPStanza.ackPrefix) {
            return badAck(String(rejection.stanzaID.dropFirst(XMPPStanza.ackPrefix.count)))
        }
        for id in [rejection.stanzaID, rejection.messageID ?? ""] {
            guard let entry = window.remove(id) else { continue }
            return [.complete(tag: entry.tag, .stanza(rejection.nack(for: id)))]
        }
        guard rejection.stanzaID.isEmpty, !window.isEmpty, strays.count < window.count else {
            let what = "an error for a message that is not unanswered: \(rejection.condition)"
            return [.report(.unexpected(what))]
        }
        strays.append(rejection)
        return [.report(.strayError(rejection.condition))] + drain()
    }

    /// Refuses the messages that had no answer in time, if there was an error for each message without an answer.
    mutating func endStrays(nowMs: Int64) -> [Action] {
        guard window.count <= strays.count else { return [] }
        let late = window.removeLate(nowMs: nowMs)
        defer { strays.removeFirst(min(late.count, strays.count)) }
        return zip(late, strays).map { entry, rejection in
            .complete(tag: entry.tag, .stanza(rejection.nack(for: entry.messageID)))
        }
    }
}

extension XMPPArrival {
    /// Its name in a reason.
    var word: String {
        switch self {
        case .features: "stream:features"
        case .authenticated: "success"
        case .refused: "failure"
        case .iq(let type, _, _): "iq of type \(RawError.clean(type))"
        case .answer, .incoming, .control, .rejection: "message"
        case .streamError: "stream:error"
        case .unexpected(let what): what
        }
    }
}
