public import FanfareModel
public import FanfareXML

/// One connection to FCM over XMPP, from the open socket to its end: an event and the time go in, what to do comes out.
///
///     idle ─► opening ─► authenticating ─► restarting ─► binding ─► ready ─► draining
///               └──────────────┴─── a broken stream, any loss ────────┴─────────┴──► closing ─► closed
///
/// It does no I/O and reads no clock. Each message that it accepts gets exactly one outcome. Until a resource is bound,
/// anything unexpected ends the connection, on which nothing is in flight. Afterwards only a broken stream does: a stanza
/// that cannot be attributed is reported, and touches no message.
public struct XMPPSession: Equatable, Sendable {
    public enum Event: Equatable, Sendable {
        /// The socket is open, TLS included.
        case connected
        /// Bytes came, blanks between stanzas included.
        case receivedBytes
        case arrived(XMLStreamEvent)
        /// The received bytes cannot be parsed any further.
        case unreadable(reason: Reason)
        /// A message to send. `json` is escaped here; `to` is its recipient, empty if it has none.
        case send(tag: UInt64, messageID: String, to: String = "", json: [UInt8])
        /// The message that was delivered under that number is stored.
        case acknowledge(UInt64)
        /// The owner wants the connection closed.
        case stop(reason: Reason)
        /// The time in ``XMPPSession/nextDeadlineMs`` has come; harmless at any other time.
        case tick
        /// The socket is gone; the last event. `handedOver` is how many of the bytes written may have left.
        case lost(reason: Reason, handedOver: UInt64)
    }

    public enum Action: Equatable, Sendable {
        case write([UInt8])
        /// The next bytes begin a new document.
        case restartParser
        case becameReady
        /// No new message on this connection; it still carries answers.
        case startedDraining
        case complete(tag: UInt64, RequestOutcome)
        /// To be acknowledged by the number, once it is safe.
        case deliver(XMPPIncoming, number: UInt64)
        case report(XMPPIncident)
        /// The user or the password is wrong; ``close(reason:)`` follows.
        case refusedCredential(String)
        /// Close the socket, then send `.lost`. The last action.
        case close(reason: Reason)
    }

    public enum Phase: Equatable, Sendable {
        case idle
        /// Our header is out: the server's and its features are due.
        case opening
        case authenticating
        /// Our second header is out.
        case restarting
        case binding
        case ready
        case draining
        /// The socket is being closed for that reason.
        case closing(reason: Reason)
        case closed
    }

    /// End of the stream, to be written last.
    public static var footer: [UInt8] { XMPPStanza.footer }

    let settings: XMPPSessionSettings
    public internal(set) var phase = Phase.idle
    /// Whether the root of the present document has come.
    private var isOpen = false
    private var wantsSession = false
    var window = XMPPWindow()
    var acks = XMPPAckBook()
    /// Errors that named no message. They are assigned to messages that had no answer in time.
    var strays: [XMPPRejection] = []
    /// All bytes ever written.
    var written: UInt64 = 0
    private var handshakeDueMs: Int64 = 0
    private var lastWrittenMs: Int64 = 0
    private var lastHeardMs: Int64 = 0
    /// As above, blanks left out.
    private var lastArrivedMs: Int64 = 0

    public init(_ settings: XMPPSessionSettings) { self.settings = settings }

    /// How many more messages may be sent now.
    public var room: Int { phase == .ready ? max(0, settings.window - window.count) : 0 }
    /// Neither an answer nor an acknowledgement is outstanding.
    public var isQuiet: Bool { window.isEmpty && acks.isEmpty }

    public mutating func handle(_ event: Event, nowMs: Int64) -> [Action] {
        var actions: [Action]
        switch event {
        case .lost(let reason, let handedOver): return end(reason, handedOver: handedOver)
        case .send(let tag, let messageID, let to, let json):
            actions = send(tag: tag, messageID: messageID, to: to, json: json, nowMs: nowMs)
        case .connected: actions = connected(nowMs)
        case .receivedBytes:
            lastHeardMs = nowMs
            return []
        case .arrived(let arrival): actions = isClosing ? [] : arrived(arrival, nowMs)
        case .unreadable(let reason): actions = isClosing ? [] : close(reason)
        case .acknowledge(let number): actions = isClosing ? [] : acknowledge(number)
        case .stop(let reason): actions = isClosing && phase != .idle ? [] : close(reason)
        case .tick: actions = isClosing ? [] : tick(nowMs)
        }
        for case .write(let bytes) in actions {
            written += UInt64(bytes.count)
            lastWrittenMs = nowMs
        }
        return actions
    }

    private var isClosing: Bool {
        switch phase {
        case .idle, .closing, .closed: true
        case .opening, .authenticating, .restarting, .binding, .ready, .draining: false
        }
    }

    mutating func close(_ reason: Reason) -> [Action] {
        phase = .closing(reason: reason)
        return [.close(reason: reason)]
    }

    private mutating func end(_ reason: Reason, handedOver: UInt64) -> [Action] {
        guard phase != .closed else { return [] }
        var reason = reason
        if case .closing(let cause) = phase { reason = cause }
        phase = .closed
        return window.removeAll().map { entry in
            // No byte of it went to the socket, so FCM cannot have seen it.
            let outcome: RequestOutcome =
                entry.start >= handedOver ? .unsent(reason: reason) : .ambiguous(reason: reason)
            return .complete(tag: entry.tag, outcome)
        }
    }

    // MARK: Time

    /// When to send `.tick`; nil if no deadline is set.
    public var nextDeadlineMs: Int64? {
        switch phase {
        case .idle, .closing, .closed: return nil
        case .opening, .authenticating, .restarting, .binding: return handshakeDueMs
        case .ready, .draining:
            var next = lastWrittenMs + settings.keepaliveMs
            if let due = window.dueMs { return min(next, due) }
            next = min(next, lastHeardMs + settings.silenceMs)
            return phase == .draining ? min(next, drainedMs) : next
        }
    }

    /// When a draining connection on which all is answered has nothing more to wait for. While an acknowledgement is
    /// owed, longer: it counts on this connection only.
    private var drainedMs: Int64 {
        lastArrivedMs + (acks.isEmpty ? settings.drainGraceMs : max(settings.ackMs, settings.drainGraceMs))
    }

    private mutating func tick(_ nowMs: Int64) -> [Action] {
        guard phase == .ready || phase == .draining else {
            return nowMs >= handshakeDueMs ? close("no answer in time while \(phase)") : []
        }
        if window.isLate(nowMs: nowMs) {
            let refused = endStrays(nowMs: nowMs)
            return refused.isEmpty ? close("no ack within \(settings.ackMs) ms") : refused
        }
        if window.isEmpty {
            if phase == .draining, nowMs >= drainedMs { return close("drained") }
            if nowMs >= lastHeardMs + settings.silenceMs {
                return close("nothing arrived for \(settings.silenceMs) ms")
            }
        }
        return nowMs >= lastWrittenMs + settings.keepaliveMs ? [.write(XMPPStanza.keepalive)] : []
    }

    // MARK: Arrivals

    private mutating func connected(_ nowMs: Int64) -> [Action] {
        guard phase == .idle else { return [] }
        phase = .opening
        handshakeDueMs = nowMs + settings.handshakeMs
        lastHeardMs = nowMs
        return [.write(XMPPStanza.header())]
    }

    private mutating func arrived(_ event: XMLStreamEvent, _ nowMs: Int64) -> [Action] {
        switch event {
        case .opened(let name, _):
            guard !isOpen, phase == .opening || phase == .restarting else { return close("a second stream header") }
            guard name == XMLName("stream", in: XMPPNamespace.streams) else {
                return close("the peer's document is not an XMPP stream")
            }
            isOpen = true
            return []
        case .closed: return close("the peer closed the stream")
        case .element(let element):
            guard isOpen else { return close("an element before the stream's header") }
            lastArrivedMs = nowMs
            let arrival = XMPPArrival(element)
            // Valid at any time, and never anything but the end.
            if case .streamError(let condition) = arrival { return close("stream error: \(condition)") }
            switch phase {
            case .ready, .draining: return served(arrival)
            default: return negotiated(arrival)
            }
        }
    }

    private mutating func negotiated(_ arrival: XMPPArrival) -> [Action] {
        switch (phase, arrival) {
        case (.opening, .features(let features)):
            guard features.mechanisms.contains("PLAIN") else { return close("the peer does not offer PLAIN") }
            phase = .authenticating
            return [.write(XMPPStanza.auth(user: settings.user, password: settings.password))]
        case (.authenticating, .authenticated):
            phase = .restarting
            isOpen = false
            return [.restartParser, .write(XMPPStanza.header())]
        case (.authenticating, .refused(let condition)):
            // The only condition that does not concern the user and the password.
            if condition == "temporary-auth-failure" { return close("authentication failed: \(condition)") }
            let reason: Reason = "authentication failed: \(condition)"
            return [.refusedCredential(condition)] + close(reason)
        case (.restarting, .features(let features)):
            guard features.offersBind else { return close("the peer does not offer to bind a resource") }
            phase = .binding
            wantsSession = features.wantsSession
            return [.write(XMPPStanza.bind())]
        case (.binding, .iq("result", XMPPStanza.bindID, _)):
            phase = .ready
            // Messages need not wait for its answer: FCM processes stanzas in order.
            let session: [Action] = wantsSession ? [.write(XMPPStanza.session())] : []
            return session + [.becameReady]
        case (.binding, .iq("error", XMPPStanza.bindID, let condition)):
            return close("the peer did not bind a resource: \(condition)")
        case (_, .unexpected(let what)): return close("\(what) while \(phase)")
        default: return close("an unexpected \(arrival.word) while \(phase)")
        }
    }
}

/// An event that the log reports; the session has dealt with it.
public enum XMPPIncident: Equatable, Sendable, CustomStringConvertible {
    /// FCM could not read an acknowledgement. `isRepeated`: it was sent once more; otherwise it was dropped.
    case badAck(messageID: String, isRepeated: Bool)
    /// An error that names no message, by the name of its condition: FCM's text may quote a token.
    case strayError(String)
    case unknownControl(String)
    /// A stanza that is not of the protocol, or that answers no message in flight.
    case unexpected(String)

    public var description: String {
        switch self {
        case .badAck(let messageID, let isRepeated):
            "FCM could not read the ack of \(messageID)" + (isRepeated ? "; it was repeated" : "")
        case .strayError(let condition): "FCM reported an error of a message that it did not name: \(condition)"
        case .unknownControl(let type): "FCM sent an unknown control message: \(type)"
        case .unexpected(let what): "FCM sent \(what)"
        }
    }
}
