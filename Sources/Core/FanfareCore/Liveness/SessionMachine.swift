/// Decides what happens in one project between a new connection to Redis and the first send on it.
///
/// An answer may be lost with a connection, and with it a claim that only Redis knows of; a server that is replaced may
/// have forgotten a claim that only this worker knows of. So each new connection begins with a comparison:
///
/// ```
///  disconnected ──connected──► awaiting ──quiet──► comparing ◄──► retrying
///       ▲                         │                  │    │
///       └── connection lost, from │                  │    └──► pausing ──┐ only after a failover
///           each state but closed ▼                  ▼                   ▼
///                               closed           ready ◄─────────────── ready ◄──► rechecking
/// ```
///
/// The worker's name in the project is registered beside it:
///
/// ```
///  unknown ──► registering ──► held ──declared dead──► registering, under the next name
///                ▲     ▲ └──declared dead──► outdated ──┐
///                │     └────────────────────────────────┘
///                └── waiting, after an error
/// ```
///
/// Timers and answers name the connection that they belong to: one of an earlier connection is ignored.
public struct SessionMachine: Sendable {
    enum State: Equatable, Sendable {
        /// No server may be used. Followed by `awaiting` or `comparing`.
        case disconnected
        /// A claim or a hand-over is unanswered, and would look like a lost one. Followed by `comparing`.
        case awaiting
        /// Redis is asked for this worker's batches. Followed by `retrying`, `pausing` or `ready`.
        case comparing
        /// The comparison failed. Followed by `awaiting` or `comparing`.
        case retrying
        /// The server has taken over from another one. Followed by `ready`.
        case pausing
        /// Sends and claims may begin. Followed by `rechecking`.
        case ready(since: UInt64)
        /// The same, while a comparison is in flight: it is repeated once a lease while there are jobs. Followed by
        /// `ready`.
        case rechecking
        /// The project has ended in this worker. Followed by no state.
        case closed
    }

    enum Registration: Equatable, Sendable {
        /// Followed by `registering`.
        case unknown
        /// Followed by `held`, `outdated`, `waiting` or, without a connection, `unknown`.
        case registering
        /// The name that is being registered was declared dead. Followed by `registering`, `waiting` or `unknown`.
        case outdated
        /// The registration failed. Followed by `registering` or `unknown`.
        case waiting
        /// The name was registered, and not declared dead since. Followed by `registering` or `unknown`.
        case held
    }

    public enum Event: Sendable {
        /// The server has the functions and may be used.
        ///
        /// - Parameter isSameServer: false if it may lack the last seconds of writes.
        case connected(isSameServer: Bool)
        case disconnected
        case answered(Answer, connection: Int)
        case timer(Timer, connection: Int)
        /// Comes several times a second while the project is not quiet.
        case tick
        /// This worker's name was declared dead.
        case declaredDead
        /// A read found that the job stream has no consumer group.
        case groupMissing
        /// The worker begins no new send in the project.
        case drain
        case close
    }

    public enum Answer: Equatable, Sendable {
        /// - Parameter lost: the batches that this worker no longer has.
        case compared(lost: [String])
        case comparisonFailed
        /// - Parameter askedNs: when Redis was asked, on the clock of the lease.
        case registered(newsCursor: String, askedNs: UInt64)
        case registrationFailed
        case groupCreated, groupFailed
        case probed
    }

    public enum Timer: Equatable, Sendable { case quiet, compare, pause, register, createGroup }

    /// The facts that an event is judged by.
    public struct Moment: Sendable {
        /// Nanoseconds on a clock that is never set.
        let now: UInt64
        /// Whether no claim and no hand-over is unanswered.
        let isQuiet: Bool
        let leaseHolds: Bool

        public init(now: UInt64, isQuiet: Bool, leaseHolds: Bool) {
            (self.now, self.isQuiet, self.leaseHolds) = (now, isQuiet, leaseHolds)
        }
    }

    private let leaseNs: UInt64
    /// Whether claims and sends wait after a failover: a worker leaves the old primary within about a second, and has to
    /// write its results before another one claims the same recipients.
    private let pausesAfterFailover: Bool
    private var pauseEndsAt: UInt64 = 0
    private(set) var state = State.disconnected
    private(set) var registration = Registration.unknown
    private var isDraining = false
    /// Whether a block may be over, because the project ran before with another credential.
    public private(set) var needsProbe: Bool
    /// Whether Redis was replaced since the last comparison that it answered.
    public private(set) var missedFailover: Bool
    /// Whether the job stream has its consumer group.
    public private(set) var hasGroup = false
    /// Grows with each connection, and with each end of one.
    public private(set) var connection = 0
    private var moment = Moment(now: 0, isQuiet: true, leaseHolds: false)

    private static let pauseNs: UInt64 = 3_000_000_000
    private static let quietPauseMs: UInt64 = 10
    private static let comparePauseMs: UInt64 = 200
    private static let registerPauseMs: UInt64 = 1_000

    /// - Parameters:
    ///   - needsProbe: whether a blocked project is probed at once.
    ///   - missedFailover: whether Redis was replaced while the project was closed.
    public init(leaseMs: Int64, pausesAfterFailover: Bool, needsProbe: Bool = false, missedFailover: Bool = false) {
        leaseNs = UInt64(max(0, leaseMs)) * 1_000_000
        self.pausesAfterFailover = pausesAfterFailover
        self.needsProbe = needsProbe
        self.missedFailover = missedFailover
    }

    /// Whether Redis answers, and this worker's batches were compared on this connection.
    public var isReady: Bool {
        switch state {
        case .ready, .rechecking: true
        case .disconnected, .awaiting, .comparing, .retrying, .pausing, .closed: false
        }
    }

    public var isRegistered: Bool { registration == .held }

    /// Whether this worker's batches were compared on this connection; it may have to pause after that.
    public var isCompared: Bool { isReady || state == .pausing }

    public mutating func handle(_ event: Event, at moment: Moment, into actions: inout [SessionAction]) {
        guard state != .closed else { return }
        self.moment = moment
        switch event {
        case .connected(let isSameServer): connected(isSameServer, &actions)
        case .disconnected: disconnected(&actions)
        case .answered(let answer, let connection):
            if connection == self.connection { answered(answer, &actions) }
        case .timer(let timer, let connection):
            if connection == self.connection { fired(timer, &actions) }
        case .tick: recheckIfDue(&actions)
        case .declaredDead: declaredDead(&actions)
        case .groupMissing: if state != .disconnected { actions.append(.createGroup) }
        case .drain:
            isDraining = true
            actions.append(.drain)
        case .close:
            state = .closed
            actions.append(.stop)
        }
    }

    private mutating func connected(_ isSameServer: Bool, _ actions: inout [SessionAction]) {
        connection += 1
        if !isSameServer { missedFailover = true }
        if missedFailover, pausesAfterFailover { pauseEndsAt = moment.now + Self.pauseNs }
        actions.append(.createGroup)
        if missedFailover { actions.append(.readNewsAgain) }
        openWhenQuiet(&actions)
        // A name that is held is only renewed: after it was declared dead it must not come back with batches of others.
        if registration == .held { actions.append(.claim) } else { register(&actions) }
    }

    private mutating func disconnected(_ actions: inout [SessionAction]) {
        connection += 1
        state = .disconnected
        if registration != .held { registration = .unknown }
        actions.append(.cut)
    }

    private mutating func fired(_ timer: Timer, _ actions: inout [SessionAction]) {
        switch timer {
        case .quiet: if state == .awaiting { openWhenQuiet(&actions) }
        case .compare: if state == .retrying { openWhenQuiet(&actions) }
        case .pause: if state == .pausing { begin(&actions) }
        case .register: if registration == .waiting { register(&actions) }
        case .createGroup: if !hasGroup { actions.append(.createGroup) }
        }
    }

    private mutating func answered(_ answer: Answer, _ actions: inout [SessionAction]) {
        switch answer {
        case .compared(let lost): compared(lost, &actions)
        case .comparisonFailed: comparisonFailed(&actions)
        case .registered(let newsCursor, let askedNs): registered(newsCursor, askedNs, &actions)
        case .registrationFailed: registrationFailed(&actions)
        case .groupCreated: hasGroup = true
        case .groupFailed: if !hasGroup { arm(.createGroup, afterMs: Self.registerPauseMs, &actions) }
        case .probed: needsProbe = false
        }
    }

    private func arm(_ timer: Timer, afterMs milliseconds: UInt64, _ actions: inout [SessionAction]) {
        actions.append(.arm(timer, at: moment.now + milliseconds * 1_000_000))
    }

    // MARK: The comparison

    /// Begins the comparison, before which no flush is written. What another server may have lost precedes it; what has
    /// no answer yet follows it.
    private mutating func openWhenQuiet(_ actions: inout [SessionAction]) {
        guard moment.isQuiet else {
            state = .awaiting
            return arm(.quiet, afterMs: Self.quietPauseMs, &actions)
        }
        state = .comparing
        let isSameServer = !missedFailover
        actions += [.open(isSameServer: isSameServer), .compare(isSameServer: isSameServer), .writeAgain]
    }

    private mutating func compared(_ lost: [String], _ actions: inout [SessionAction]) {
        actions.append(.forget(lost))
        switch state {
        case .comparing:
            missedFailover = false
            begin(&actions)
        case .rechecking: work(&actions)
        case .disconnected, .awaiting, .retrying, .pausing, .ready, .closed:
            preconditionFailure("Nothing was compared on this connection.")
        }
    }

    private mutating func comparisonFailed(_ actions: inout [SessionAction]) {
        switch state {
        case .comparing:
            state = .retrying
            // A flush before the comparison that is repeated would make an older state look like the newest.
            actions.append(.cut)
            arm(.compare, afterMs: Self.comparePauseMs, &actions)
        case .rechecking: state = .ready(since: moment.now)
        case .disconnected, .awaiting, .retrying, .pausing, .ready, .closed:
            preconditionFailure("Nothing was compared on this connection.")
        }
    }

    /// Begins to work, on a new primary after a pause.
    private mutating func begin(_ actions: inout [SessionAction]) {
        guard moment.now < pauseEndsAt else { return work(&actions) }
        state = .pausing
        actions.append(.arm(.pause, at: pauseEndsAt))
    }

    private mutating func work(_ actions: inout [SessionAction]) {
        state = .ready(since: moment.now)
        if needsProbe { actions.append(.probe) }
        actions.append(.claim)
    }

    /// Releases batches that only Redis counts as this worker's, because an answer was unreadable or a call failed.
    private mutating func recheckIfDue(_ actions: inout [SessionAction]) {
        guard case .ready(let since) = state, moment.leaseHolds, !isDraining, moment.isQuiet,
            moment.now > since + leaseNs
        else { return }
        state = .rechecking
        actions.append(.compare(isSameServer: true))
    }

    // MARK: The name

    private mutating func register(_ actions: inout [SessionAction]) {
        guard !isDraining, state != .disconnected else {
            registration = .unknown
            return
        }
        registration = .registering
        actions.append(.register)
    }

    private mutating func registered(_ newsCursor: String, _ askedNs: UInt64, _ actions: inout [SessionAction]) {
        switch registration {
        case .registering:
            registration = .held
            actions += [.hold(newsCursor: newsCursor, since: askedNs), .claim]
        case .outdated: register(&actions)
        case .unknown, .waiting, .held: preconditionFailure("Nothing was registered on this connection.")
        }
    }

    private mutating func registrationFailed(_ actions: inout [SessionAction]) {
        switch registration {
        case .registering, .outdated:
            registration = .waiting
            arm(.register, afterMs: Self.registerPauseMs, &actions)
        case .unknown, .waiting, .held: preconditionFailure("Nothing was registered on this connection.")
        }
    }

    /// The worker holds nothing any more. It writes its results as late facts, and registers under its next name.
    private mutating func declaredDead(_ actions: inout [SessionAction]) {
        actions.append(.loseLease)
        switch registration {
        case .registering, .outdated: registration = .outdated
        case .unknown, .waiting, .held: register(&actions)
        }
    }
}

/// The actions that a driver performs for a ``SessionMachine``.
public enum SessionAction: Equatable, Sendable {
    /// Makes the consumer group of the job stream.
    case createGroup
    /// Reads the news of jobs from the first one: another server may number them differently.
    case readNewsAgain
    /// The connection was lost, or its comparison: no flush is written, and no send begins.
    case cut
    /// See ``FlushTable/open(isSameServer:)``.
    case open(isSameServer: Bool)
    /// Compares what this worker holds with what Redis says it holds.
    case compare(isSameServer: Bool)
    /// Writes the flushes that have no answer.
    case writeAgain
    /// Redis gave these batches to others, or forgot them.
    case forget([String])
    case register
    /// The name is held, from the time when Redis was asked.
    case hold(newsCursor: String, since: UInt64)
    /// The next name begins.
    case loseLease
    /// Sends and claims may begin.
    case claim
    /// Has a blocked project probed at once: the credential that was refused may be another one now.
    case probe
    case drain
    /// Claims and writes nothing more.
    case stop
    case arm(SessionMachine.Timer, at: UInt64)
}
