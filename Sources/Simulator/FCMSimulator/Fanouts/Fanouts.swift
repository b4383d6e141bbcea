import FanfareJSON

/// One send to a topic, a condition or a group, on its way to its recipients.
struct Fanout: Equatable, Sendable {
    enum Kind: String, Equatable, Sendable { case topic, condition, group }

    /// Grows with every send; ``Fanouts/start(_:)`` sets it.
    var id: UInt64 = 0
    var project: String
    var kind: Kind
    /// The topic's name without `/topics/`, the condition's text or the group's key.
    var target: String
    var messageID: String
    /// Counted when the send was accepted.
    var recipients: Int
    var acceptedMs: Int64
    /// nil while it waits because the project has too many active fan-outs.
    var startedMs: Int64?
    /// nil while it is active or waits.
    var finishedMs: Int64?
    /// nil if the recipients have the message already.
    var message: FanoutMessage?

    /// Its line in `GET /fanouts`.
    var line: [UInt8] {
        func time(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }
        let object: JSONObject = [
            "project": .string(project), kind.rawValue: .string(target), "message_id": .string(messageID),
            "recipients": .integer(recipients), "accepted_ms": .integer(acceptedMs),
            "started_ms": time(startedMs), "finished_ms": time(finishedMs),
        ]
        return JSONValue.object(object).jsonBytes + [UInt8(ascii: "\n")]
    }
}

/// The message that the subscribers get when their fan-out ends.
struct FanoutMessage: Equatable, Sendable {
    var audience: Audience
    var send: Send
}

/// The fan-outs of all projects: the active ones, the waiting ones, and the latest that ended.
struct Fanouts: Sendable {
    static let maximumFinished = 10_000

    private let rate: Int
    private let defers: Bool
    private var meters: [String: FanoutMeter] = [:]
    private var open: [UInt64: Fanout] = [:]
    /// Without their messages, oldest first; cut back to ``maximumFinished`` when there are twice as many.
    private var finished: [Fanout] = []
    private var lastID: UInt64 = 0
    /// The most fan-outs of one project that were active at once.
    private(set) var maximumActive = 0

    init(rate: Int, defers: Bool) {
        self.rate = rate
        self.defers = defers
    }

    /// Starts a fan-out, or lets it wait; false if the project has too many. Call ``advance(to:)`` before.
    mutating func start(_ fanout: Fanout) -> Bool {
        lastID += 1
        var fanout = fanout
        fanout.id = lastID
        let now = fanout.acceptedMs
        let (isAccepted, isStarted) = meters[fanout.project, default: FanoutMeter(rate: rate, defers: defers)]
            .add(id: lastID, recipients: fanout.recipients, nowMs: now)
        guard isAccepted else { return false }
        if isStarted { fanout.startedMs = now }
        open[lastID] = fanout
        maximumActive = max(maximumActive, meters[fanout.project]?.activeCount ?? 0)
        return true
    }

    /// - Returns: the fan-outs that ended since the last call, in the order of their ends.
    mutating func advance(to nowMs: Int64) -> [Fanout] {
        guard !open.isEmpty else { return [] }
        var ended: [Fanout] = []
        for project in meters.keys.sorted() {
            for event in meters[project]?.advance(to: nowMs) ?? [] {
                switch event {
                case .started(let id, let atMs): open[id]?.startedMs = atMs
                case .finished(let id, let atMs):
                    guard var fanout = open.removeValue(forKey: id) else { continue }
                    fanout.finishedMs = atMs
                    ended.append(fanout)
                    fanout.message = nil
                    finished.append(fanout)
                }
            }
        }
        if finished.count > 2 * Self.maximumFinished { finished.removeFirst(finished.count - Self.maximumFinished) }
        // Only each project's fan-outs are in order yet.
        return ended.sorted { ($0.finishedMs ?? 0, $0.id) < ($1.finishedMs ?? 0, $1.id) }
    }

    /// The fan-outs of one project, or of all, in the order of their acceptance.
    func list(project: String?) -> [Fanout] {
        (finished.suffix(Self.maximumFinished) + open.values)
            .filter { project == nil || $0.project == project }
            .sorted { $0.id < $1.id }
    }
}
