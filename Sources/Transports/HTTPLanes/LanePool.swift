internal import DequeModule
package import EventLoop
public import FanfareModel

/// Sends requests to one origin over as many HTTP/2 connections as their number needs.
///
/// Loop-confined: made, used and closed on the loop's thread. Every request passed to ``send(_:)`` gets exactly one
/// outcome; the page "Guarantees" lists its classes under "Outcome classes". A request that the server may have
/// processed is never sent again.
public final class LanePool {
    /// Interval at which the pool checks deadlines and stalls while it holds requests.
    static let sweepMs: Int64 = 100
    /// Answers that are delivered before the next lane is read: delivering that many at once costs little for each.
    private static let answersAtOnce = 32

    let loop: EventLoop
    let configuration: OriginConfiguration

    /// Receives a request's tag and its outcome. Called at the end of a turn of the loop, never from within
    /// ``send(_:)``; it may send.
    public var onCompletion: (UInt64, RequestOutcome) -> Void = { _, _ in }
    /// Called after completions that came together. Requests sent from here leave before the rest of the turn. It may
    /// close the pool.
    public var onRoom: () -> Void = {}
    /// Whether requests may begin, asked right before a library runs. If not, unwritten requests are `.unsent`.
    public var mayBegin: () -> Bool = { true }

    private let engine: any LaneEngine
    let group: PoolGroup
    /// The pool's number in its group.
    private(set) var number = 0
    private var rule: RequestRule
    var planner: LanePlanner
    var lanes: [Lane] = []
    var retiring: [Lane] = []
    var work: [Lane] = []
    /// Requests that wait for a stream, in order of arrival; requests that come back from a lane go first.
    var queue: Deque<WaitingRequest> = []
    private var completions: [(tag: UInt64, outcome: RequestOutcome)] = []
    private(set) var inFlight = 0
    private var turnEnd: TurnEndID?
    private var nextTurn: TimerID?
    var sweep: TimerID?
    var opening: TimerID?
    private var isDelivering = false
    private var isClosed = false

    /// - Parameters:
    ///   - engine: makes the connections. The pool closes it.
    ///   - group: the pools of the same loop.
    package init(loop: EventLoop, configuration: OriginConfiguration, engine: any LaneEngine, group: PoolGroup) {
        self.loop = loop
        self.group = group
        self.configuration = configuration
        self.engine = engine
        rule = RequestRule(allowsPlainHTTP: configuration.allowsPlainHTTP)
        planner = LanePlanner(
            maximumLanes: configuration.maximumLanes,
            maximumStreams: configuration.maximumStreamsPerLane
        )
        number = group.join(self)
        turnEnd = loop.onArmedTurnEnd { [weak self] in self?.endTurn() }
    }

    deinit { assert(isClosed, "closed on the loop first") }

    // MARK: The outside

    /// How many more requests the pool accepts: 0 while the origin cannot be reached. A rise makes the loop turn.
    public var freeSlots: Int {
        guard !isClosed else { return 0 }
        var (open, isPaused) = (0, false)
        for lane in lanes {
            open += max(0, lane.state.limit - lane.state.inFlight)
            if lane.state.isPaused { isPaused = true }
        }
        let unopened = isPaused ? 0 : planner.unopened(lanes: lanes.count, nowMs: loop.nowMs)
        return max(0, open + (unopened > 0 && hasUncountedFailure ? 0 : unopened) - queue.count)
    }

    /// True when a lane has ended without an answer, and the turn's end will delay the next one. Until then no request
    /// may open a lane.
    private var hasUncountedFailure: Bool {
        let failed = { (lane: Lane) in lane.state.isDrained && lane.state.answered == 0 }
        return lanes.contains(where: failed) || retiring.contains(where: failed)
    }

    /// True when every request has had its outcome.
    public var isIdle: Bool { inFlight == 0 && queue.isEmpty && completions.isEmpty }

    /// Number of connections that take requests, or will once they are open.
    public var openLanes: Int { lanes.count }

    /// Queues a request. Beyond ``freeSlots``, or when it breaks a rule, its outcome is `.unsent`.
    public func send(_ request: HTTPRequest) {
        let fault = isClosed ? "the pool is closed" : rule.fault(of: request)
        if let fault { return complete(request.tag, .unsent(reason: Reason(fault))) }
        guard freeSlots > 0 else { return complete(request.tag, .unsent(reason: "no free slot")) }
        let timeout = min(max(1, request.timeoutMs), 3_600_000)
        queue.append(WaitingRequest(request: request, deadlineMs: loop.nowMs + timeout))
        scheduleTurn()
    }

    /// Closes all connections. Each request in flight gets its outcome from within this call. The last call.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        if let turnEnd { loop.removeTurnEnd(turnEnd) }
        for timer in [nextTurn, sweep, opening] { if let timer { loop.cancel(timer) } }
        for lane in lanes + retiring {
            for number in lane.numbers(where: { _, _ in true }) {
                cancel(number, on: lane, reason: "the pool was closed", as: .withdrawn)
            }
            close(lane)
        }
        lanes = []
        retiring = []
        work = []
        group.leave(number)
        completeQueue(reason: "the pool was closed")
        engine.close()
        // Called from within a completion, the running delivery delivers these too.
        if !isDelivering { deliver() }
    }

    // MARK: A turn

    /// Reads lane after lane. After ``answersAtOnce`` answers, or a few long ones, it delivers them before it reads the
    /// next lane. So the requests that follow them leave soon: a turn may be long, and its first answer does not wait for
    /// its last.
    private func endTurn() {
        guard !isClosed, !work.isEmpty || !queue.isEmpty || !completions.isEmpty else { return }
        // A request that no lane takes yet is looked at in each turn.
        defer { if !isClosed, !queue.isEmpty, let turnEnd { loop.arm(turnEnd) } }
        if let nextTurn { loop.cancel(nextTurn) }
        nextTurn = nil
        let listed = work
        work.removeAll(keepingCapacity: true)
        var pumped: [Lane] = []
        for lane in listed {
            // Listed until now, so that requests assigned meanwhile do not pump it twice.
            lane.isListed = false
            pump(lane)
            pumped.append(lane)
            if completions.count >= Self.answersAtOnce || !group.mayRead { answer(&pumped) }
            guard !isClosed else { return }
        }
        answer(&pumped)
        guard !isClosed else { return }
        closeDrained()
        if !work.isEmpty || !completions.isEmpty { scheduleTurn() }
        armSweep()
    }

    /// Delivers the answers, assigns queued requests, pumps the lanes that got one, and only then sends.
    private func answer(_ pumped: inout [Lane]) {
        let hasAnswers = !completions.isEmpty
        deliver()
        // Not from within the delivery, which still has to deliver the requests that closing the pool completes.
        if hasAnswers, !isClosed { onRoom() }
        guard !isClosed else { return }
        assignQueued()
        let again = work
        work.removeAll(keepingCapacity: true)
        for lane in again { lane.isListed = false }
        for lane in again { pump(lane) }
        for lane in again + pumped {
            withdrawIfStopped(from: lane)
            lane.connection?.flush()
        }
        pumped.removeAll(keepingCapacity: true)
    }

    private func pump(_ lane: Lane) {
        guard let connection = lane.connection else { return }
        // The next turn reads it, after the answers that wait were delivered.
        guard group.mayRead else { return enlist(lane) }
        withdrawIfStopped(from: lane)
        connection.pump()
        while let (number, end) = connection.nextEnd() { finish(number, on: lane, end) }
        charge(lane)
        if let limit = lane.state.serverLimit, limit < planner.learned { planner.lowerLimit(to: limit) }
        if lane.state.isOverloaded { planner.lowerLimit(to: lane.state.window.limit) }
    }

    /// While requests may not begin, takes back the requests of which the library has written nothing.
    private func withdrawIfStopped(from lane: Lane) {
        guard lane.state.inFlight > 0, !mayBegin(), let connection = lane.connection else { return }
        for number in lane.numbers(where: { number, _ in connection.isHeldBack(number) }) {
            _ = connection.cancel(number, reason: "no request may begin", as: .withdrawn)
            complete(release(number, from: lane, .withdrawn), reason: "no request may begin")
        }
    }

    func enlist(_ lane: Lane) {
        guard !lane.isListed, !isClosed else { return }
        lane.isListed = true
        work.append(lane)
        if let turnEnd { loop.arm(turnEnd) }
    }

    func scheduleTurn() {
        if let turnEnd { loop.arm(turnEnd) }
        guard nextTurn == nil, !isClosed else { return }
        nextTurn = loop.schedule(afterNanoseconds: 0) { [unowned self] in nextTurn = nil }
    }

    private func deliver() {
        isDelivering = true
        defer { isDelivering = false }
        // Completions that sending from here adds, or closing, are delivered too; at most as many as there are slots.
        while !completions.isEmpty {
            let batch = completions
            completions = []
            for completion in batch { onCompletion(completion.tag, completion.outcome) }
            group.delivered(batch.reduce(0) { $0 + $1.outcome.bodyBytes })
            if !isClosed { break }
        }
    }

    // MARK: Assigning

    private func assignQueued() {
        guard !queue.isEmpty else { return }
        guard mayBegin() else { return completeQueue(reason: "no request may begin") }
        // A connection that was idle for long may be dead, and nothing has shown it.
        for lane in lanes where lane.state.inFlight == 0 && isTooOld(lane) {
            lane.state.retire()
            enlist(lane)
        }
        retireMarked()
        let views = lanes.map { lane in
            LanePlanner.View(
                room: lane.state.room,
                inFlight: lane.state.inFlight,
                limit: lane.state.limit,
                isOpening: lane.state.phase == .opening
            )
        }
        let plan = planner.plan(queued: queue.count, lanes: views, nowMs: loop.nowMs)
        for assignment in plan.assignments { assign(lanes[assignment.lane], assignment.count) }
        // The turn's end counts a failed connection, and that delays the next one.
        guard !(lanes + retiring).contains(where: \.state.couldNotConnect) else { return }
        for _ in 0..<plan.open {
            guard let lane = openLane() else { break }
            assign(lane, min(queue.count, lane.state.room))
        }
    }

    private func openLane() -> Lane? {
        guard let origin = rule.origin, let id = group.openLane(of: number, nowMs: loop.nowMs) else { return nil }
        let window = StreamWindow(maximum: configuration.maximumStreamsPerLane, limit: planner.learned)
        let state = LaneState(
            window: window,
            timeoutsToRetire: configuration.timeoutsToRetire,
            probes: engine.connectsForRequest ? 1 : 0,
            nowMs: loop.nowMs
        )
        let lane = Lane(id: id, state: state) { [unowned self] in enlist($0) }
        guard let connection = engine.connect(lane, to: origin) else {
            group.closedLane(id)
            return nil
        }
        lane.connection = connection
        lanes.append(lane)
        return lane
    }

    private func assign(_ lane: Lane, _ count: Int) {
        guard let connection = lane.connection else { return }
        for _ in 0..<count {
            guard let waiting = queue.popFirst() else { return }
            let number = lane.add(waiting, nowMs: loop.nowMs)
            inFlight += 1
            if connection.submit(waiting.request, number: number) { continue }
            release(number, from: lane, .withdrawn)
            complete(waiting, reason: "the HTTP library did not take the request")
        }
        enlist(lane)
    }

    // MARK: Endings

    func cancel(_ number: Int, on lane: Lane, reason: Reason, as ending: LaneState.Ending) {
        guard let end = lane.connection?.cancel(number, reason: reason, as: ending) else { return }
        finish(number, on: lane, end)
        charge(lane)
    }

    private func finish(_ number: Int, on lane: Lane, _ end: RequestEnd) {
        let waiting = release(number, from: lane, end.ending)
        // After its deadline it would be cut off on its next lane, and count as possibly processed.
        if !isClosed, waiting.deadlineMs > loop.nowMs,
            MoveRule.moves(end, refusals: waiting.refusals, moves: waiting.moves)
        {
            queue.prepend(waiting.moved(isRefused: end.proof == .refused, reason: end.reason))
        } else {
            complete(waiting.request.tag, outcome(of: waiting, end))
        }
    }

    private func outcome(of waiting: WaitingRequest, _ end: RequestEnd) -> RequestOutcome {
        let reason = end.reason ?? ""
        return switch end.proof {
        // Refused before and not sent since: the server has still not processed it.
        case .unsent where waiting.refusals > 0: .refused(reason: reason)
        case .unsent: .unsent(reason: group.explained(reason))
        case .refused: .refused(reason: reason)
        case .ambiguous: .ambiguous(reason: reason)
        case .answered(let answer): .answered(answer)
        }
    }

    /// Removes a request that has ended from its lane.
    @discardableResult
    func release(_ number: Int, from lane: Lane, _ ending: LaneState.Ending) -> WaitingRequest {
        let waiting = lane.remove(number)
        lane.state.ended(ending, nowMs: loop.nowMs)
        inFlight -= 1
        if case .refused(isEarlier: true) = ending { planner.lowerLimit(to: lane.state.limit) }
        if case .answered = ending {
            if lane.state.isMultiplexed == false {
                planner.lowerLimit(to: 1)
            } else {
                planner.raiseLimit(to: lane.state.limit)
            }
        }
        enlist(lane)
        return waiting
    }

    func completeQueue(reason: Reason) {
        while let waiting = queue.popFirst() { complete(waiting, reason: reason) }
    }

    func complete(_ waiting: WaitingRequest, reason: Reason) {
        let reason = waiting.lastReason?.before(reason) ?? reason
        let outcome = waiting.refusals > 0 ? RequestOutcome.refused(reason: reason) : .unsent(reason: reason)
        complete(waiting.request.tag, outcome)
    }

    private func complete(_ tag: UInt64, _ outcome: RequestOutcome) {
        completions.append((tag, outcome))
        group.completed(outcome.bodyBytes)
        scheduleTurn()
    }
}
