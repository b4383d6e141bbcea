internal import FanfareModel

/// Messages and acknowledgements, in both directions, once a resource is bound.
extension XMPPSession {
    mutating func send(tag: UInt64, messageID: String, json: [UInt8], nowMs: Int64) -> [Action] {
        guard room > 0 else { return [.complete(tag: tag, .unsent(reason: "the connection takes no message now"))] }
        guard !window.contains(messageID) else {
            return [.complete(tag: tag, .unsent(reason: "a message of that id is under way"))]
        }
        window.insert(tag: tag, messageID: messageID, start: written, deadlineMs: nowMs + settings.ackMs)
        return [.write(XMPPStanza.message(id: messageID, json: json))]
    }

    mutating func acknowledge(_ number: UInt64) -> [Action] {
        guard phase == .ready || phase == .draining, let ack = acks.acknowledge(number) else { return [] }
        return [.write(XMPPStanza.ack(to: ack.to, messageID: ack.messageID))]
    }

    mutating func served(_ arrival: XMPPArrival) -> [Action] {
        switch arrival {
        case .answer(let messageID, let nack, let json):
            return answered(messageID, nack: nack, json) + settleStrays()
        case .incoming(let incoming):
            guard !acks.isFull else { return close("\(XMPPAckBook.mostOwed) messages without an acknowledgement") }
            return [.deliver(incoming, number: acks.owe(to: incoming.from, messageID: incoming.messageID))]
        case .control("CONNECTION_DRAINING"): return drain()
        case .control(let type): return [.report(.unknownControl(type))]
        case .rejection(let rejection): return rejected(rejection)
        // Nothing depends on a session.
        case .iq("result", XMPPStanza.sessionID, _), .iq("error", XMPPStanza.sessionID, _): return []
        case .iq("get", let id, _), .iq("set", let id, _): return [.write(XMPPStanza.notServed(id: id))]
        case .unexpected(let what): return close(what)
        case .features, .authenticated, .refused, .iq, .streamError: return close("an unexpected \(arrival.word)")
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
            return close("an answer to a message that is not unanswered: \(RawError.clean(messageID))")
        }
        return [.complete(tag: entry.tag, .stanza(json))] + (nack == "CONNECTION_DRAINING" ? drain() : [])
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

    /// Finds the refused message by the stanza's id, by the JSON that came back, or as the only one left unanswered.
    private mutating func rejected(_ rejection: XMPPRejection) -> [Action] {
        if rejection.stanzaID.hasPrefix(XMPPStanza.ackPrefix) {
            return badAck(String(rejection.stanzaID.dropFirst(XMPPStanza.ackPrefix.count)))
        }
        for id in [rejection.stanzaID, rejection.messageID ?? ""] {
            guard let entry = window.remove(id) else { continue }
            return [.complete(tag: entry.tag, .stanza(rejection.nack(for: id)))] + settleStrays()
        }
        guard rejection.stanzaID.isEmpty, !window.isEmpty else {
            return close("an error for a message that is not unanswered: \(rejection.condition)")
        }
        strays.append(rejection)
        // Without new messages, FCM answers all that it could read; the error was about the one that is left.
        return [.report(.strayError(rejection.condition))] + settleStrays() + (strays.isEmpty ? [] : drain())
    }

    private mutating func settleStrays() -> [Action] {
        guard !strays.isEmpty, window.count <= strays.count else { return [] }
        let meant = zip(window.removeAll(), strays)
        strays = []
        return meant.map { entry, rejection in
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
