internal import DequeModule
public import EventLoop
public import FCMWire
public import FanfareModel

/// Sends messages to FCM over as many XMPP connections as they need, and receives what FCM sends of its own accord.
///
/// Loop-confined: made, used and closed on the loop's thread. Every message passed to ``send(tag:messageID:json:)``
/// gets exactly one outcome; the pool never sends one again. The callbacks run at the end of a turn, never from within
/// a call into the pool, except ``close()``.
public final class XMPPPool {
    /// Receives a message's tag and its outcome. It may send.
    public var onCompletion: (UInt64, RequestOutcome) -> Void = { _, _ in }
    /// Called after completions that came together. Messages sent from here leave in the same turn.
    public var onRoom: () -> Void = {}
    /// Receives an upstream message or a receipt, and the means to answer it.
    public var onIncoming: (XMPPIncoming, XMPPReply) -> Void = { _, _ in }
    /// Called before each new connection. It calls back on the loop, at once or later, with true to permit it.
    public var authorizeConnection: (@escaping (Bool) -> Void) -> Void = { $0(true) }
    /// Receives the number of open and opening connections whenever it changes.
    public var onConnections: (Int) -> Void = { _ in }
    /// Receives the reason why FCM refused the sender id or the key. The pool tries again after its longest pause.
    public var onRefusedCredential: (String) -> Void = { _ in }
    /// Called when a connection is ready: FCM has accepted the sender id and the key.
    public var onReady: () -> Void = {}
    /// Receives lines for the log: why a connection failed.
    public var onWarning: (String) -> Void = { _ in }
    /// Receives the first of the incidents that came together, and their number. No connection fails because of one.
    public var onIncidents: (XMPPIncident, Int) -> Void = { _, _ in }

    private let loop: EventLoop
    private let configuration: XMPPConfiguration
    private let random: () -> Double
    private var planner: ConnectionPlanner
    private(set) var connections: [XMPPConnection] = []
    /// Connections that ended in this turn, kept alive while a call from within one of them returns.
    private var ended: [XMPPConnection] = []
    /// Messages that no connection has taken yet, in order of arrival.
    private var waiting: Deque<WaitingMessage> = []
    private var unanswered = 0

    private var completions: [(tag: UInt64, outcome: RequestOutcome)] = []
    private var arrivals: [(incoming: XMPPIncoming, connection: XMPPConnection, number: UInt64)] = []
    private var warnings: [String] = []
    private var incidents: (first: XMPPIncident, count: Int)?
    private var refusals: [String] = []
    private var becameReady = false
    private var written: [XMPPConnection] = []
    private var reportedConnections = 0

    private var nextTurn: TimerID?
    private var reminder: (id: TimerID, atMs: Int64)?
    private var isDelivering = false
    private var isClosed = false

    /// - Parameter random: in 0..<1, spreads the reconnects.
    public init(
        loop: EventLoop,
        configuration: XMPPConfiguration,
        random: @escaping () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.loop = loop
        self.configuration = configuration
        self.random = random
        planner = ConnectionPlanner(configuration)
        loop.onTurnEnd { [weak self] in self?.endTurn() }
        // The first connection opens after the owner has set the callbacks.
        scheduleTurn()
    }

    deinit { assert(isClosed, "closed on the loop first") }

    // MARK: The outside

    /// How many more messages the pool accepts now. It falls to 0 while FCM cannot be reached; the loop makes a turn
    /// when it rises again.
    public var freeSlots: Int {
        guard !isClosed else { return 0 }
        let (ready, opening) = tally()
        let room = connections.reduce(0) { $0 + $1.session.room }
        return max(0, room + planner.promised(ready: ready, opening: opening, nowMs: loop.nowMs) - waiting.count)
    }

    /// True when every message has had its outcome.
    public var isIdle: Bool { unanswered + waiting.count == 0 && completions.isEmpty }

    /// Number of connections that are ready for messages.
    public var readyConnections: Int { tally().ready }

    /// Queues a message. Beyond ``freeSlots`` its outcome is `.unsent`.
    ///
    /// - Parameters:
    ///   - messageID: the `message_id` in `json`; an answer is known by it. Unique among the messages in flight.
    ///   - to: the recipient in `json`, by which an answer without an id is known; empty if it has none.
    ///   - json: what `<gcm>` holds, not yet escaped for XML.
    public func send(tag: UInt64, messageID: String, to: String = "", json: [UInt8]) {
        guard freeSlots > 0 else {
            return complete(tag, .unsent(reason: isClosed ? "the pool is closed" : "no free slot"))
        }
        let deadline = loop.nowMs + configuration.session.ackMs
        waiting.append(WaitingMessage(tag: tag, messageID: messageID, to: to, json: json, deadlineMs: deadline))
        scheduleTurn()
    }

    /// Ends everything: each message in flight gets its outcome from within this call. The last call.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        for timer in [nextTurn, reminder?.id] { if let timer { loop.cancel(timer) } }
        for connection in connections { connection.stop("the pool was closed") }
        // FCM sends again what was not acknowledged.
        arrivals = []
        failWaiting("the pool was closed")
        // Called from within a completion, the running delivery delivers these too.
        if !isDelivering { deliver() }
        report()
    }

    // MARK: A turn

    private func tally() -> (ready: Int, opening: Int) {
        connections.reduce(into: (0, 0)) { count, connection in
            if connection.session.phase == .ready { count.0 += 1 }
            if connection.isOpening { count.1 += 1 }
        }
    }

    private func scheduleTurn() {
        guard nextTurn == nil, !isClosed else { return }
        nextTurn = loop.schedule(afterNanoseconds: 0) { [unowned self] in nextTurn = nil }
    }

    /// Delivers outcomes, feeds the connections, opens further ones, and only then writes.
    private func endTurn() {
        guard !isClosed else { return }
        ended = []
        let hasAnswers = !completions.isEmpty
        deliver()
        if hasAnswers, !isClosed { onRoom() }
        guard !isClosed else { return }
        feed()
        dropLate()
        openConnections()
        for connection in written {
            connection.isListed = false
            connection.flush()
        }
        written.removeAll(keepingCapacity: true)
        report()
        if !completions.isEmpty || !arrivals.isEmpty { scheduleTurn() }
        armReminder()
    }

    private func deliver() {
        isDelivering = true
        defer { isDelivering = false }
        while !completions.isEmpty {
            let batch = completions
            completions = []
            for completion in batch { onCompletion(completion.tag, completion.outcome) }
            if !isClosed { break }
        }
        let (lines, reasons, isReady) = (warnings, refusals, becameReady)
        (warnings, refusals, becameReady) = ([], [], false)
        for line in lines { onWarning(line) }
        if let (first, count) = incidents {
            incidents = nil
            onIncidents(first, count)
        }
        for reason in reasons { onRefusedCredential(reason) }
        if isReady { onReady() }
        let batch = arrivals
        arrivals = []
        for arrival in batch where !isClosed {
            onIncoming(arrival.incoming, reply(to: arrival.number, on: arrival.connection))
        }
    }

    private func reply(to number: UInt64, on connection: XMPPConnection) -> XMPPReply {
        XMPPReply(
            acknowledge: { [weak self, weak connection] in
                guard let self, let connection else { return }
                connection.acknowledge(number)
                enlist(connection)
            },
            giveBack: { [weak connection] in connection?.stop("what FCM sends cannot be kept at present") }
        )
    }

    private func report() {
        guard reportedConnections != connections.count else { return }
        reportedConnections = connections.count
        onConnections(reportedConnections)
    }

    private func enlist(_ connection: XMPPConnection) {
        scheduleTurn()
        guard !connection.isListed else { return }
        connection.isListed = true
        written.append(connection)
    }

    // MARK: Messages

    private func feed() {
        for connection in connections {
            guard !waiting.isEmpty else { return }
            guard connection.session.room > 0 else { continue }
            while connection.session.room > 0, let message = waiting.popFirst() {
                unanswered += 1
                connection.send(message)
            }
            enlist(connection)
        }
    }

    private func dropLate() {
        while let first = waiting.first, first.deadlineMs <= loop.nowMs {
            _ = waiting.popFirst()
            complete(first.tag, .unsent(reason: "no connection took it in time"))
        }
    }

    private func failWaiting(_ reason: Reason) {
        while let message = waiting.popFirst() { complete(message.tag, .unsent(reason: reason)) }
    }

    private func complete(_ tag: UInt64, _ outcome: RequestOutcome) {
        completions.append((tag, outcome))
        scheduleTurn()
    }

    // MARK: Connections

    private func openConnections() {
        let (ready, opening) = tally()
        let wanted = planner.wanted(queued: waiting.count, ready: ready, opening: opening, nowMs: loop.nowMs)
        for _ in 0..<wanted {
            planner.requestedPermit()
            var isAnswered = false
            authorizeConnection { [weak self] isGranted in
                guard let self, !isAnswered else { return }
                isAnswered = true
                permitAnswered(isGranted)
            }
        }
    }

    private func permitAnswered(_ isGranted: Bool) {
        planner.answeredPermit(isGranted, nowMs: loop.nowMs, random: random())
        scheduleTurn()
        guard isGranted, !isClosed else { return failWaitingIfCutOff("no permit to connect") }
        let connection = XMPPConnection(loop: loop, configuration: configuration)
        connection.onAction = { [unowned self] connection, action in perform(action, for: connection) }
        connection.onEnd = { [unowned self] connection, reason in connectionEnded(connection, reason) }
        connections.append(connection)
        connection.open()
    }

    private func perform(_ action: XMPPSession.Action, for connection: XMPPConnection) {
        scheduleTurn()
        switch action {
        case .becameReady: becameReady = true
        case .complete(let tag, let outcome):
            unanswered -= 1
            complete(tag, outcome)
        case .deliver(let incoming, let number): arrivals.append((incoming, connection, number))
        case .report(let incident): incidents = (incidents?.first ?? incident, (incidents?.count ?? 0) + 1)
        case .refusedCredential(let reason):
            connection.isRefused = true
            refusals.append(reason)
        case .startedDraining:
            connection.isMeantToEnd = true
            let servedMs = loop.nowMs - (connection.readySinceMs ?? loop.nowMs)
            planner.drained(servedMs: servedMs, nowMs: loop.nowMs, random: random())
            failWaitingIfCutOff("the connection is being drained")
        case .write, .restartParser, .close: break
        }
    }

    private func connectionEnded(_ connection: XMPPConnection, _ reason: Reason) {
        connections.removeAll { $0 === connection }
        ended.append(connection)
        scheduleTurn()
        guard !isClosed, !connection.isMeantToEnd else { return }
        warnings.append("an XMPP connection ended: \(reason)")
        let servedMs = connection.readySinceMs.map { loop.nowMs - $0 }
        if connections.contains(where: { isStable($0) }) { planner.markStable() }
        planner.failed(servedMs: servedMs, isRefused: connection.isRefused, nowMs: loop.nowMs, random: random())
        failWaitingIfCutOff(reason)
    }

    private func isStable(_ connection: XMPPConnection) -> Bool {
        connection.readySinceMs.map { loop.nowMs - $0 >= ConnectionPlanner.stableMs } ?? false
    }

    /// Fails the waiting messages while no connection can be had: they wait with their owner, where waiting is durable.
    private func failWaitingIfCutOff(_ reason: Reason) {
        let (ready, opening) = tally()
        guard ready + opening + planner.pendingPermits == 0, planner.isPausing(nowMs: loop.nowMs) else { return }
        failWaiting(reason.after("FCM cannot be reached"))
    }

    // MARK: Time

    /// Arms one timer for the earliest of: the end of a pause, a message that waits too long, an idle connection.
    private func armReminder() {
        var due = Int64.max
        if let first = waiting.first { due = first.deadlineMs }
        if planner.isPausing(nowMs: loop.nowMs) { due = min(due, planner.nextOpeningMs) }
        if let idle = idleConnection() { due = min(due, max(loop.nowMs + 1, idle.lastUsedMs + configuration.idleMs)) }
        guard due < Int64.max else { return }
        if let reminder {
            if reminder.atMs <= due { return }
            loop.cancel(reminder.id)
        }
        let id = loop.schedule(afterMilliseconds: max(0, due - loop.nowMs)) { [unowned self] in
            reminder = nil
            closeIdle()
            scheduleTurn()
        }
        reminder = (id, due)
    }

    /// The least recently used idle connection; nil when no more than the least number is ready.
    private func idleConnection() -> XMPPConnection? {
        let ready = connections.filter { $0.session.phase == .ready }
        guard ready.count > max(0, configuration.leastConnections) else { return nil }
        return ready.filter(\.session.isQuiet).min { $0.lastUsedMs < $1.lastUsedMs }
    }

    private func closeIdle() {
        while let idle = idleConnection(), loop.nowMs - idle.lastUsedMs >= configuration.idleMs {
            idle.isMeantToEnd = true
            idle.stop("idle")
        }
    }
}

/// A message that no connection has taken yet.
struct WaitingMessage {
    var tag: UInt64
    var messageID: String
    var to: String
    var json: [UInt8]
    var deadlineMs: Int64
}
