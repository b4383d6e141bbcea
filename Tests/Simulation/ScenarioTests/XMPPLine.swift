import ExpatKit
import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import FanfareXML
import Testing

/// One XMPP connection: our session at one end, the simulator at the other, and between them bytes that both have to
/// parse.
final class XMPPLine {
    let id: UInt64
    var session: XMPPSession
    let fromServer = XMLStreamParser()
    let fromClient = XMLStreamParser()
    var outcomes: [UInt64: RequestOutcome] = [:]
    /// What came of FCM's own accord, and the number to acknowledge it by.
    var incoming: [(XMPPIncoming, number: UInt64)] = []
    var incidents: [XMPPIncident] = []
    var isReady = false
    var isDraining = false
    var refusedCredential: String?
    var closeReason: String?
    /// Everything that we wrote.
    var written: [UInt8] = []

    init(id: UInt64, settings: XMPPSessionSettings) {
        self.id = id
        session = XMPPSession(settings)
    }
}

extension Scene {
    /// Opens a connection and logs in, as far as it goes.
    mutating func connect(password: String = Scene.project.serverKey) throws -> XMPPLine {
        let settings = XMPPSessionSettings(
            user: XMPPSessionSettings.user(senderID: Self.project.senderID),
            password: password
        )
        let id = simulator.openXMPP()
        let line = XMPPLine(id: try #require(id), settings: settings)
        lines[line.id] = line
        try handle(.connected, on: line)
        return line
    }

    /// Gives our session an event, and lets everything happen that comes of it.
    mutating func handle(_ event: XMPPSession.Event, on line: XMPPLine) throws {
        try run(line.session.handle(event, nowMs: nowMs), on: line)
        try carry()
    }

    /// Brings the server's words to our sessions until nobody has anything to say.
    mutating func carry() throws {
        while true {
            let outputs = simulator.removeXMPPOutput()
            guard !outputs.isEmpty else { return }
            // The server has restarted its parser before a client can answer.
            for output in outputs where output.action == .restart { lines[output.connection]?.fromClient.restart() }
            for output in outputs {
                guard let line = lines[output.connection] else { continue }
                switch output.action {
                case .write(let bytes):
                    for event in try line.fromServer.feed(bytes) {
                        try run(line.session.handle(.arrived(event), nowMs: nowMs), on: line)
                    }
                case .close:
                    try run(line.session.handle(.lost(reason: "closed", handedOver: .max), nowMs: nowMs), on: line)
                    lines[line.id] = nil
                case .restart, .pauseReading, .resumeReading: break
                }
            }
        }
    }

    private mutating func run(_ actions: [XMPPSession.Action], on line: XMPPLine) throws {
        for action in actions {
            switch action {
            case .write(let bytes):
                line.written += bytes
                for event in try line.fromClient.feed(bytes) { simulator.receiveXMPP(event, on: line.id, nowMs: nowMs) }
            case .restartParser: line.fromServer.restart()
            case .becameReady: line.isReady = true
            case .startedDraining: line.isDraining = true
            case .complete(let tag, let outcome): line.outcomes[tag] = outcome
            case .deliver(let incoming, let number): line.incoming.append((incoming, number))
            case .report(let incident): line.incidents.append(incident)
            case .refusedCredential(let reason): line.refusedCredential = reason
            case .close(let reason):
                line.closeReason = reason.description
                simulator.closedXMPP(line.id, nowMs: nowMs)
                lines[line.id] = nil
                try run(line.session.handle(.lost(reason: reason, handedOver: .max), nowMs: nowMs), on: line)
            }
        }
    }

    /// Lets happen on all connections what is due.
    mutating func settleXMPP() throws {
        simulator.tick(nowMs: nowMs)
        try carry()
    }

    /// The socket is gone without a word.
    mutating func cut(_ line: XMPPLine) throws {
        simulator.closedXMPP(line.id, nowMs: nowMs)
        lines[line.id] = nil
        try handle(.lost(reason: "cut", handedOver: .max), on: line)
    }

    /// The connection that sends use unless another is named.
    mutating func usualLine() throws -> XMPPLine {
        if let line = lines.values.first(where: { $0.session.room > 0 }) { return line }
        return try connect()
    }

    /// - Parameter tag: must be new on the line.
    mutating func post(
        _ json: [UInt8],
        messageID: String,
        to recipient: String = "",
        tag: UInt64,
        on line: XMPPLine
    ) throws -> RequestOutcome? {
        try handle(.send(tag: tag, messageID: messageID, to: recipient, json: json), on: line)
        return line.outcomes[tag]
    }

    mutating func nextMessageID() -> XMPPMessageID {
        messageCount += 1
        return XMPPMessageID(job: "job", index: messageCount, attempt: 1, nonce: 7)
    }

    /// One attempt over XMPP. The answer's JSON takes the place of a reply's body.
    mutating func attemptXMPP(_ job: Job, recipient: String) throws -> Verdict {
        let id = nextMessageID().description
        let json = try Self.stanza(of: job, recipient: recipient, messageID: id)
        return try exchange(json, messageID: id, kind: job.target.kind, recipient: recipient)
    }

    static func stanza(of job: Job, recipient: String, messageID: String) throws -> [UInt8] {
        var json: [UInt8] = []
        try XMPPTemplate(source(of: job))
            .render(kind: job.target.kind, recipient: recipient, messageID: messageID, into: &json)
        return json
    }

    mutating func exchange(
        _ json: [UInt8],
        messageID: String,
        kind: RecipientKind,
        recipient: String
    ) throws -> Verdict {
        let line = try usualLine()
        messageCount += 1
        let outcome = try #require(
            try post(json, messageID: messageID, to: recipient, tag: UInt64(messageCount), on: line)
        )
        reply = SimulatorReply(status: 0)
        if case .stanza(let bytes) = outcome { reply.body = bytes }
        return XMPPResponse.verdict(outcome, kind: kind, recipient: recipient, nowMs: nowMs, atMostOnce: false)
    }
}
