import FanfareJSON
public import FanfareXML

/// XMPP connections, as a server shows them to the simulator: what was read goes in, and what there is to do is fetched
/// by ``takeXMPPOutput()`` after every call of any kind.
extension Simulator {
    /// A client has connected, by TLS.
    ///
    /// - Returns: the connection's name; nil when there are too many.
    public mutating func openXMPP() -> UInt64? { xmpp.open() }

    public mutating func receiveXMPP(_ event: XMLStreamEvent, on id: UInt64, nowMs: Int64) {
        let now = nowMs &+ clockOffsetMs
        settle(now: now)
        guard let connection = xmpp.connections[id] else { return }
        switch event {
        case .opened(let name, let attributes): openStream(name, attributes, on: connection, now: now)
        case .closed: xmpp.end(id, saying: XMPPText.end)
        case .element(let element):
            guard connection.stage == .bound else { return negotiate(element, on: connection, now: now) }
            // In the order in which they came, and none while too many have no answer.
            guard connection.isReading else {
                xmpp.connections[id]?.backlog.append(element)
                return
            }
            hear(element, on: id, now: now)
        }
        settleXMPP(now: now)
    }

    /// The client's bytes were no XML of the kind that is allowed here: the stream ends with an error.
    public mutating func failXMPP(_ id: UInt64, reason: String) {
        guard xmpp.connections[id] != nil else { return }
        endStream(id, "not-well-formed", reason)
    }

    /// The client has gone, or the server has closed as it was told to.
    public mutating func closedXMPP(_ id: UInt64, nowMs: Int64) {
        xmpp.forget(id)
        settleXMPP(now: nowMs &+ clockOffsetMs)
    }

    /// Does what has become due. To be called at ``xmppDueMs(nowMs:)``.
    public mutating func tick(nowMs: Int64) { settle(now: nowMs &+ clockOffsetMs) }

    /// When ``tick(nowMs:)`` is to be called next, Unix milliseconds; nil while nothing waits.
    public func xmppDueMs(nowMs: Int64) -> Int64? {
        guard !xmpp.connections.isEmpty else { return nil }
        var due = xmpp.nextDueMs.map { $0 &- clockOffsetMs }
        // A message that waits in a device queue may be delivered, and its receipt be due, at any time.
        if !xmpp.receipts.isEmpty { due = min(due ?? Int64.max, nowMs + 1_000) }
        return due
    }

    /// In the order in which it is to be done. What names a connection that is gone is to be passed over.
    public mutating func takeXMPPOutput() -> [XMPPOutput] {
        defer { xmpp.outbox = [] }
        return xmpp.outbox
    }

    // MARK: What happens by itself

    mutating func settleXMPP(now: Int64) {
        for id in xmpp.timed.sorted() {
            answerWhatIsDue(id, now: now)
            guard let connection = xmpp.connections[id] else { continue }
            if let ends = connection.drainEndsMs, ends <= now {
                xmpp.end(id, saying: XMPPText.end)
            } else if connection.answers.isEmpty, !connection.isDraining {
                xmpp.timed.remove(id)
            }
        }
        xmpp.statistics.upstreamExpired += xmpp.upstream.expire(now: now)
        for project in xmpp.upstream.projectsWaiting { sendUpstream(project: project) }
    }

    private mutating func answerWhatIsDue(_ id: UInt64, now: Int64) {
        guard let connection = xmpp.connections[id] else { return }
        for answer in connection.answers where answer.dueMs <= now { xmpp.write(answer.stanza, on: id) }
        xmpp.connections[id]?.answers.removeAll { $0.dueMs <= now }
        while let next = xmpp.connections[id], !next.isReading, next.answers.count < XMPPConnection.window {
            guard let element = next.backlog.first else {
                xmpp.connections[id]?.isReading = true
                xmpp.outbox.append(XMPPOutput(connection: id, action: .resumeReading))
                return
            }
            xmpp.connections[id]?.backlog.removeFirst()
            hear(element, on: id, now: now)
        }
    }

    /// To the connection that has the fewest without an ack.
    private mutating func sendUpstream(project: String) {
        while true {
            let free = xmpp.connections.values.filter { $0.project?.id == project && $0.takesUpstream }
            guard let target = free.min(by: { ($0.unacked.count, $0.id) < ($1.unacked.count, $1.id) }) else { return }
            let room = free.count > 1 ? 1 : XMPPConnection.window - target.unacked.count
            let items = xmpp.upstream.take(room, project: project)
            guard !items.isEmpty else { return }
            for item in items {
                xmpp.write(XMPPText.message(item.json, to: target.jid), on: target.id)
                xmpp.statistics.upstreamSent += 1
            }
            xmpp.connections[target.id]?.unacked += items
        }
    }

    // MARK: Ends

    mutating func endStream(_ id: UInt64, _ condition: String, _ text: String) {
        guard let connection = xmpp.connections[id] else { return }
        // An error has its place within a stream.
        let header =
            connection.stage == .opening || connection.stage == .reopening
            ? XMPPText.header(id: streamID(), domain: connection.domain) : ""
        xmpp.end(id, saying: header + XMPPText.streamError(condition, text) + XMPPText.end)
    }

    mutating func streamID() -> String { String(random.next() | 1 << 63, radix: 16) }

    /// Tells a client to go elsewhere; what it sends here from now on is refused.
    mutating func drain(_ id: UInt64, now: Int64) {
        guard let connection = xmpp.connections[id], connection.stage == .bound, !connection.isDraining else { return }
        xmpp.connections[id]?.drainEndsMs = now + XMPPService.drainMs
        xmpp.timed.insert(id)
        let control: JSONObject = ["message_type": "control", "control_type": "CONNECTION_DRAINING"]
        xmpp.write(XMPPText.message(JSONValue.object(control).jsonBytes, to: connection.jid), on: id)
    }
}
