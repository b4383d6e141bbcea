import FanfareXML

/// Where one connection stands.
struct XMPPConnection: Equatable, Sendable {
    enum Stage: Equatable, Sendable {
        /// Before the first stream header.
        case opening
        case authenticating
        /// After authentication: the stream begins anew.
        case reopening
        case binding
        case bound
    }

    /// A downstream message that was dealt with and is answered later.
    struct Answer: Equatable, Sendable {
        var messageID: String
        var stanza: [UInt8]
        var dueMs: Int64
    }

    /// Downstream messages without an answer. With so many the server reads no further.
    static let window = 100

    let id: UInt64
    var stage = Stage.opening
    var domain = XMPPNames.domains[0]
    var project: SimulatedProject?
    var jid = ""
    /// In the order in which they came.
    var answers: [Answer] = []
    /// What was read before the server stopped to.
    var backlog: [XMLElement] = []
    var isReading = true
    /// Set once it drains: when the server ends it, Unix milliseconds.
    var drainEndsMs: Int64?
    /// What a device or FCM said on it and has no ack yet, in the order in which it was sent.
    var unacked: [Upstream] = []

    init(id: UInt64) {
        self.id = id
    }

    var isDraining: Bool { drainEndsMs != nil }
    /// Whether what devices say may go here.
    var takesUpstream: Bool { stage == .bound && !isDraining && unacked.count < Self.window }
    var isAuthenticated: Bool { project != nil }
}

/// What a server has to do on one connection, in the order given.
public struct XMPPOutput: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case write([UInt8])
        /// What comes next is a new document.
        case restart
        case pauseReading
        case resumeReading
        /// After all that was written.
        case close
    }

    public var connection: UInt64
    public var action: Action
}

/// The connections of all projects, and what waits for them.
struct XMPPService: Sendable {
    static let mostOpen = 2_500
    static let mostNewPerMinute = 400
    /// Of all projects, and those without one yet.
    static let mostSockets = 10_000
    /// So long a draining connection stays for acks.
    static let drainMs: Int64 = 10_000

    var connections: [UInt64: XMPPConnection] = [:]
    /// Those of them to which something happens by itself: an answer is due later, or they drain.
    var timed: Set<UInt64> = []
    var outbox: [XMPPOutput] = []
    var upstream = UpstreamQueue()
    var receipts = ReceiptWishes()
    var statistics = XMPPStatistics()
    private var connects: [String: QuotaWindow] = [:]
    private var lastID: UInt64 = 0

    mutating func open() -> UInt64? {
        guard connections.count < Self.mostSockets else { return nil }
        lastID += 1
        connections[lastID] = XMPPConnection(id: lastID)
        return lastID
    }

    func openCount(project: String) -> Int {
        connections.values.reduce(0) { $0 + ($1.project?.id == project ? 1 : 0) }
    }

    /// True when the project may have one more connection.
    mutating func admit(project: String, now: Int64) -> Bool {
        guard openCount(project: project) < Self.mostOpen,
            connects[project, default: QuotaWindow(limit: Self.mostNewPerMinute)].take(1, nowMs: now)
        else {
            statistics.refused += 1
            return false
        }
        return true
    }

    mutating func write(_ text: String, on id: UInt64) { write(Array(text.utf8), on: id) }

    mutating func write(_ bytes: [UInt8], on id: UInt64) {
        outbox.append(XMPPOutput(connection: id, action: .write(bytes)))
    }

    /// Ends a connection; what it leaves without an ack goes to another.
    mutating func end(_ id: UInt64, saying text: String? = nil) {
        if let text { write(text, on: id) }
        outbox.append(XMPPOutput(connection: id, action: .close))
        forget(id)
    }

    mutating func forget(_ id: UInt64) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        timed.remove(id)
        if let project = connection.project { upstream.putBack(connection.unacked, project: project.id) }
    }

    /// All that is not a connection.
    mutating func reset() {
        upstream = UpstreamQueue()
        receipts = ReceiptWishes()
        statistics = XMPPStatistics()
        connects = [:]
        for id in connections.keys { connections[id]?.unacked = [] }
    }

    /// When something happens by itself, Unix milliseconds; nil for never.
    var nextDueMs: Int64? {
        var due = upstream.nextExpiryMs
        for connection in timed.lazy.compactMap({ connections[$0] }) {
            for answer in connection.answers { due = min(due ?? Int64.max, answer.dueMs) }
            if let ends = connection.drainEndsMs { due = min(due ?? Int64.max, ends) }
        }
        return due
    }
}
