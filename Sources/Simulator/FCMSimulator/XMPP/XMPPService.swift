import FanfareJSON
import FanfareXML

/// A stanza that concerns the simulator.
enum XMPPInput: Equatable, Sendable {
    /// The simulator acknowledges or refuses it.
    case downstream(XMPPSend)
    /// A message that was refused for its JSON, with the code that the statistics count.
    case malformed(String)
}

/// The XMPP connections of all projects, and the messages that wait for one. It knows streams, acks, windows and
/// limits; whether a downstream message is accepted is not its concern.
struct XMPPService: Sendable {
    /// Connections of one project.
    static let maximumOpen = 2_500
    static let maximumNewPerMinute = 400
    /// Connections of all projects, including those not authenticated yet.
    static let maximumSockets = 10_000
    /// For so long a draining connection stays open for acks.
    static let drainMs: Int64 = 10_000

    /// The counts of `GET /stats` since the last reset.
    private struct Statistics {
        /// Connections that were authenticated.
        var accepted = 0
        /// Connections refused because a limit was reached.
        var refused = 0
        var acks = 0
        var nacks = 0
        var badAcks = 0
        /// Messages written to the app server; a message without an ack is written again.
        var upstreamSent = 0
        var upstreamAcked = 0
    }

    private(set) var connections: [UInt64: XMPPConnection] = [:]
    /// The connections to which something happens by itself: an answer is due later, or they drain.
    private var timed: Set<UInt64> = []
    private var outbox: [XMPPOutput] = []
    /// The messages that wait for a connection of their project.
    var upstream = UpstreamQueue()
    private var statistics = Statistics()
    /// By project id.
    private var connects: [String: QuotaWindow] = [:]
    private var lastID: UInt64 = 0

    // MARK: Connections

    /// - Returns: the new connection; nil if there are too many.
    mutating func open() -> UInt64? {
        guard connections.count < Self.maximumSockets else { return nil }
        lastID += 1
        connections[lastID] = XMPPConnection(id: lastID)
        return lastID
    }

    /// Handles an event of a client's stream, and returns the input that the simulator has to answer.
    mutating func receive(
        _ event: XMLStreamEvent,
        on id: UInt64,
        projects: [SimulatedProject],
        ids: inout IdentifierSource,
        nowMs: Int64
    ) -> XMPPInput? {
        guard let connection = connections[id] else { return nil }
        switch event {
        case .opened(let name, let attributes):
            let step = connections[id]?.openStream(name, attributes, ids: &ids)
            if let step { perform(step, on: id, ids: &ids, nowMs: nowMs) }
        case .closed: end(id, with: XMPPText.end)
        case .element(let element):
            guard connection.stage == .bound else {
                let step = connections[id]?.negotiate(element, projects: projects, ids: &ids)
                if let step { perform(step, on: id, ids: &ids, nowMs: nowMs) }
                return nil
            }
            guard connection.isReading else {
                connections[id]?.backlog.append(element)
                return nil
            }
            return handle(element, on: id, ids: &ids, nowMs: nowMs)
        }
        return nil
    }

    /// Ends a stream with an error (RFC 6120, section 4.9.3).
    mutating func fail(_ id: UInt64, _ condition: String, text: String, ids: inout IdentifierSource) {
        guard let connection = connections[id] else { return }
        let header = connection.isStreamOpen ? "" : XMPPText.header(id: ids.stream(), domain: connection.domain)
        end(id, with: header + XMPPText.streamError(condition, text) + XMPPText.end)
    }

    /// Closes a connection. Its upstream messages without an ack go to another one.
    mutating func end(_ id: UInt64, with text: String? = nil) {
        if let text { write(text, on: id) }
        outbox.append(XMPPOutput(connection: id, action: .close))
        forget(id)
    }

    /// The client has gone, or the server has closed the connection.
    mutating func forget(_ id: UInt64) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        timed.remove(id)
        if let project = connection.project { upstream.putBack(connection.unacked, project: project.id) }
    }

    /// Forgets everything but the connections.
    mutating func reset() {
        upstream = UpstreamQueue()
        statistics = Statistics()
        connects = [:]
        for id in connections.keys { connections[id]?.unacked = [] }
    }

    /// Returns the instructions to the server since the last call. It skips those for a connection that is gone.
    mutating func removeOutput() -> [XMPPOutput] {
        defer { outbox = [] }
        return outbox
    }

    private mutating func perform(
        _ step: XMPPConnection.Step,
        on id: UInt64,
        ids: inout IdentifierSource,
        nowMs: Int64
    ) {
        switch step {
        case .write(let text): write(text, on: id)
        case .refuse(let condition): end(id, with: XMPPText.failure(condition) + XMPPText.end)
        case .fail(let condition, let text): fail(id, condition, text: text, ids: &ids)
        case .admit(let project):
            guard admit(project: project.id, nowMs: nowMs) else {
                let text = "too many connections of this project"
                return fail(id, "resource-constraint", text: text, ids: &ids)
            }
            statistics.accepted += 1
            connections[id]?.authenticate(project)
            write(XMPPText.success, on: id)
            outbox.append(XMPPOutput(connection: id, action: .restart))
        }
    }

    /// - Returns: true if the project may have one more connection.
    private mutating func admit(project: String, nowMs: Int64) -> Bool {
        let openCount = connections.values.count { $0.project?.id == project }
        guard openCount < Self.maximumOpen,
            connects[project, default: QuotaWindow(limit: Self.maximumNewPerMinute)].consume(1, nowMs: nowMs)
        else {
            statistics.refused += 1
            return false
        }
        return true
    }

    mutating func write(_ text: String, on id: UInt64) { write(Array(text.utf8), on: id) }

    private mutating func write(_ bytes: [UInt8], on id: UInt64) {
        outbox.append(XMPPOutput(connection: id, action: .write(bytes)))
    }

    // MARK: Stanzas of a bound connection

    private mutating func handle(
        _ element: XMLElement,
        on id: UInt64,
        ids: inout IdentifierSource,
        nowMs: Int64
    ) -> XMPPInput? {
        guard let connection = connections[id] else { return nil }
        switch element.name {
        case XMLName("message", in: XMPPNames.client):
            // The client reports a stanza of ours that it could not read.
            guard element.attributes["type"] != "error" else { return nil }
            guard let body = element.child("gcm", in: XMPPNames.data) else {
                fail(id, "invalid-xml", text: "a message without gcm of \(XMPPNames.data)", ids: &ids)
                return nil
            }
            return handle(Array(body.text.utf8), stanza: element.attributes["id"] ?? "", on: id, nowMs: nowMs)
        case XMLName("iq", in: XMPPNames.client):
            let request = element.attributes["id"] ?? ""
            guard ["get", "set"].contains(element.attributes["type"]) else { return nil }
            let isSession = element.child("session", in: XMPPNames.session) != nil
            write(
                isSession
                    ? XMPPText.result(id: request, to: connection.jid)
                    : XMPPText.iqError(id: request, "service-unavailable"),
                on: id
            )
        case XMLName("presence", in: XMPPNames.client): break
        default: fail(id, "unsupported-stanza-type", text: "expected message, iq or presence", ids: &ids)
        }
        return nil
    }

    private mutating func handle(_ json: [UInt8], stanza: String, on id: UInt64, nowMs: Int64) -> XMPPInput? {
        switch XMPPReader.read(json) {
        case .unreadable(let text):
            write(XMPPText.messageError(id: stanza, json: json, text), on: id)
            return .malformed("INVALID_JSON")
        case .refused(let nack):
            refuse(nack, on: id, nowMs: nowMs)
            guard nack.error == "BAD_ACK" else { return .malformed(nack.error) }
            statistics.badAcks += 1
            return nil
        case .ack(let to, let messageID):
            handleAck(of: messageID, to: to, on: id, nowMs: nowMs)
            return nil
        case .downstream(let message): return .downstream(message)
        }
    }

    /// An ack counts only on the connection that carried the message. A second ack is ignored.
    private mutating func handleAck(of messageID: String, to: String, on id: UInt64, nowMs: Int64) {
        guard let connection = connections[id],
            let place = connection.unacked.firstIndex(where: { $0.messageID.isExactly(messageID) })
        else { return }
        guard connection.unacked[place].isFor(to) else {
            statistics.badAcks += 1
            let text = "The ack's to is not the sender of the message"
            return refuse(XMPPNack(messageID: messageID, from: to, error: "BAD_ACK", text: text), on: id, nowMs: nowMs)
        }
        connections[id]?.unacked.remove(at: place)
        statistics.upstreamAcked += 1
    }

    // MARK: Answers to downstream messages

    /// - Parameter more: further members of the ack.
    mutating func acknowledge(_ message: XMPPSend, more: JSONObject, delayMs: Int64, on id: UInt64, nowMs: Int64) {
        statistics.acks += 1
        var json: JSONObject = [
            "from": .string(message.to), "message_id": .string(message.messageID), "message_type": "ack",
        ]
        if message.hidesID { json["message_id"] = nil }
        json.members += more.members
        reply(json, to: message.messageID, delayMs: delayMs, on: id, nowMs: nowMs)
    }

    /// - Parameters:
    ///   - text: nil for the usual description of the code.
    ///   - more: further members of the nack.
    mutating func refuse(
        _ message: XMPPSend,
        _ code: String,
        text: String? = nil,
        more: JSONObject = JSONObject(),
        delayMs: Int64 = 0,
        on id: UInt64,
        nowMs: Int64
    ) {
        let nack = XMPPNack(
            messageID: message.messageID,
            from: message.to,
            error: code,
            text: text ?? DeviceFailure.nackText(code, to: message.to),
            more: more,
            hidesID: message.hidesID
        )
        refuse(nack, delayMs: delayMs, on: id, nowMs: nowMs)
    }

    private mutating func refuse(_ nack: XMPPNack, delayMs: Int64 = 0, on id: UInt64, nowMs: Int64) {
        statistics.nacks += 1
        reply(nack.json, to: nack.messageID, delayMs: delayMs, on: id, nowMs: nowMs)
    }

    private mutating func reply(
        _ json: JSONObject,
        to messageID: String,
        delayMs: Int64,
        on id: UInt64,
        nowMs: Int64
    ) {
        guard let jid = connections[id]?.jid else { return }
        let stanza = XMPPText.message(JSONValue.object(json).jsonBytes, to: jid)
        guard delayMs > 0 else { return write(stanza, on: id) }
        timed.insert(id)
        let answer = XMPPConnection.Answer(messageID: messageID, stanza: stanza, dueMs: nowMs + delayMs)
        if connections[id]?.append(answer) == false {
            outbox.append(XMPPOutput(connection: id, action: .pauseReading))
        }
    }

    // MARK: Time

    /// When something happens by itself, Unix milliseconds; nil for never.
    ///
    /// A device may get a message at any time, so an awaited receipt makes this a second from now at most.
    func dueMs(nowMs: Int64) -> Int64? {
        guard !connections.isEmpty else { return nil }
        var due = upstream.nextExpiryMs
        for connection in timed.lazy.compactMap({ connections[$0] }) {
            for answer in connection.answers { due = min(due ?? Int64.max, answer.dueMs) }
            if let ends = connection.drainEndsMs { due = min(due ?? Int64.max, ends) }
        }
        return upstream.awaitsReceipts ? min(due ?? Int64.max, nowMs + 1_000) : due
    }

    /// The connections to call ``writeDueAnswers(on:nowMs:)``, ``nextInput(on:ids:nowMs:)`` and
    /// ``finish(_:nowMs:)`` for, in this order.
    var timedConnections: [UInt64] { timed.sorted() }

    mutating func writeDueAnswers(on id: UInt64, nowMs: Int64) {
        for answer in connections[id]?.removeAnswers(dueAt: nowMs) ?? [] { write(answer.stanza, on: id) }
    }

    /// Handles the stanzas that wait for room, up to one that the simulator has to answer.
    mutating func nextInput(on id: UInt64, ids: inout IdentifierSource, nowMs: Int64) -> XMPPInput? {
        while let element = connections[id]?.nextOfBacklog() {
            if let input = handle(element, on: id, ids: &ids, nowMs: nowMs) { return input }
        }
        if connections[id]?.resumeReading() == true {
            outbox.append(XMPPOutput(connection: id, action: .resumeReading))
        }
        return nil
    }

    /// Ends a connection that has drained.
    mutating func finish(_ id: UInt64, nowMs: Int64) {
        guard let connection = connections[id] else { return }
        if let ends = connection.drainEndsMs, ends <= nowMs {
            end(id, with: XMPPText.end)
        } else if connection.answers.isEmpty, !connection.isDraining {
            timed.remove(id)
        }
    }

    /// Tells a client to go elsewhere. Its further messages on this connection are refused.
    mutating func drain(_ id: UInt64, nowMs: Int64) {
        guard let connection = connections[id], connection.stage == .bound, !connection.isDraining else { return }
        connections[id]?.drainEndsMs = nowMs + Self.drainMs
        timed.insert(id)
        let control: JSONObject = ["message_type": "control", "control_type": "CONNECTION_DRAINING"]
        write(XMPPText.message(JSONValue.object(control).jsonBytes, to: connection.jid), on: id)
    }

    /// Drains the bound connections of one project, or of all, and returns their number.
    mutating func drainAll(project: String?, nowMs: Int64) -> Int {
        let found = connections.values.filter { connection in
            connection.stage == .bound && !connection.isDraining
                && (project == nil || connection.project?.id == project)
        }
        for id in found.map(\.id).sorted() { drain(id, nowMs: nowMs) }
        return found.count
    }

    // MARK: Upstream messages

    /// Queues a message of a device, or lets one that is never stored expire; false if too many messages wait.
    mutating func sendUpstream(_ message: Upstream, project: String) -> Bool {
        let hasConnection = connections.values.contains { $0.project?.id == project && $0.acceptsUpstream }
        guard !message.isNowOrNever || hasConnection else {
            upstream.expiredCount += 1
            return true
        }
        return upstream.add(message, project: project)
    }

    /// Drops expired upstream messages and sends the others to their project's connections.
    mutating func distributeUpstream(nowMs: Int64) {
        upstream.expire(nowMs: nowMs)
        for project in upstream.waiting.keys.sorted() { distributeUpstream(of: project) }
    }

    /// The connection with the fewest messages without an ack comes first.
    private mutating func distributeUpstream(of project: String) {
        while true {
            let free = connections.values.filter { $0.project?.id == project && $0.acceptsUpstream }
            guard let target = free.min(by: { ($0.unacked.count, $0.id) < ($1.unacked.count, $1.id) }) else { return }
            let room = free.count > 1 ? 1 : XMPPConnection.window - target.unacked.count
            let items = upstream.removeFirst(room, project: project)
            guard !items.isEmpty else { return }
            for item in items { write(XMPPText.message(item.json, to: target.jid), on: target.id) }
            statistics.upstreamSent += items.count
            connections[target.id]?.unacked += items
        }
    }

    /// The `xmpp` object of `GET /stats`.
    var report: JSONValue {
        let open = connections.values
        return .object([
            "open": .integer(open.count { $0.stage == .bound }), "draining": .integer(open.count(where: \.isDraining)),
            "accepted": .integer(statistics.accepted), "refused": .integer(statistics.refused),
            "acks": .integer(statistics.acks), "nacks": .integer(statistics.nacks),
            "bad_acks": .integer(statistics.badAcks), "receipts": .integer(upstream.receiptCount),
            "upstream_sent": .integer(statistics.upstreamSent), "upstream_acked": .integer(statistics.upstreamAcked),
            "upstream_expired": .integer(upstream.expiredCount),
            "upstream_unacked": .integer(open.reduce(0) { $0 + $1.unacked.count }),
            "upstream_waiting": .integer(upstream.count),
        ])
    }
}
