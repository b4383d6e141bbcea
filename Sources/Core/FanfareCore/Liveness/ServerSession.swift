internal import FanfareModel

/// Decides how a Redis server is prepared on each connection, before any project works on it: the functions are loaded, and
/// the configuration is checked. Recognises the server of the connection before.
///
/// ```
///  away ──connected──► preparing: loading ──► checking the server ──► loaded ◄──► reloading, by the same steps
///                          ▲         └──► checking the functions ──┘   (a failure ends it: projects work)
///                          └── a pause after a failure
/// ```
///
/// Timers and answers name the connection that they belong to: one of an earlier connection is ignored.
public struct ServerSession: Sendable {
    enum State: Equatable, Sendable {
        /// Followed by `preparing`.
        case away
        /// Followed by `preparing`, `unused` or `loaded`.
        case preparing(Step)
        /// No project has keys to check the functions with: the next one begins again. Followed by `preparing`.
        case unused
        /// Projects may work. Followed by `reloading`.
        case loaded
        /// Projects work, and functions are loaded again. Followed by `reloading`, `loaded` or, without functions, `preparing`.
        case reloading(Step)
    }

    enum Step: Equatable, Sendable {
        case loading
        /// - Parameter mayLoad: whether loading them may succeed later.
        case checkingFunctions(mayLoad: Bool)
        case checkingServer
        case waitingToLoad, waitingToCheck
    }

    public enum Event: Sendable {
        case connected, disconnected
        case answered(Answer, connection: Int)
        case timer(connection: Int)
        /// A call found that Redis lacks a function: `FUNCTION FLUSH`, an empty replica, or the library of an older worker.
        case functionMissing
        case projectOpened
    }

    public enum Answer: Equatable, Sendable {
        case functionsLoaded
        /// - Parameter isTransient: whether the error passes by itself.
        case loadFailed(isTransient: Bool)
        case functionsFound
        case functionsMissing(isTransient: Bool)
        case noProject
        case serverUnknown
        /// - Parameters:
        ///   - runID: nil for a user without the right to `INFO`.
        ///   - remedy: what an operator has to change; nil if the server can be used.
        case server(runID: String?, remedy: String?)
    }

    private(set) var state = State.away
    /// Grows with each connection, and with each end of one.
    public private(set) var connection = 0
    /// Why the connected server cannot be used; empty if it can.
    public private(set) var condition = ""
    private var runID: String?
    private var wasUsed = false
    /// The functions were lost, and not the connection.
    private var lacksFunctions = false
    /// Every call of a function reports that it is missing; the library is loaded again once in this time.
    private var reloads = LogThrottle(seconds: 2)
    /// The same where this user may not load functions and Redis has an older library, which lacks some of them.
    private var futileReloads = LogThrottle(seconds: 3_600)
    private var isReloadFutile = false
    private var now: UInt64 = 0

    private static let loadPauseMs: UInt64 = 2_000
    private static let serverPauseMs: UInt64 = 500
    private static let remedyPauseMs: UInt64 = 5_000

    public init() {}

    /// Whether projects may work: the server has the functions and a usable configuration.
    public var isLoaded: Bool {
        switch state {
        case .loaded, .reloading: true
        case .away, .preparing, .unused: false
        }
    }

    /// - Parameter now: nanoseconds on a clock that is never set.
    public mutating func handle(_ event: Event, now: UInt64, into actions: inout [ServerAction]) {
        self.now = now
        switch event {
        case .connected:
            end()
            begin(&actions)
        case .disconnected:
            end()
            state = .away
        case .answered(let answer, let connection):
            if connection == self.connection { answered(answer, &actions) }
        case .timer(let connection):
            guard connection == self.connection else { return }
            if state == .preparing(.waitingToLoad) { enter(.loading, &actions) }
            if state == .preparing(.waitingToCheck) { enter(.checkingServer, &actions) }
        case .functionMissing: reload(&actions)
        case .projectOpened: if state == .unused { begin(&actions) }
        }
    }

    private mutating func end() {
        connection += 1
        lacksFunctions = false
    }

    private mutating func begin(_ actions: inout [ServerAction]) {
        state = .preparing(.loading)
        actions.append(.load)
    }

    private mutating func reload(_ actions: inout [ServerAction]) {
        guard state == .loaded || state == .unused else { return }
        guard isReloadFutile ? futileReloads.admits(now: now) : reloads.admits(now: now) else { return }
        actions.append(.reportReload)
        enter(.loading, &actions)
    }

    /// Begins a step, with the projects at work or not.
    private mutating func enter(_ step: Step, _ actions: inout [ServerAction]) {
        state = isLoaded ? .reloading(step) : .preparing(step)
        switch step {
        case .loading: actions.append(.load)
        case .checkingFunctions: actions.append(.checkFunctions)
        case .checkingServer: actions.append(.checkServer)
        case .waitingToLoad, .waitingToCheck: break
        }
    }

    /// While projects work, the next command that fails begins again.
    private mutating func wait(_ step: Step, milliseconds: UInt64, _ actions: inout [ServerAction]) {
        guard !isLoaded else { return state = .loaded }
        enter(step, &actions)
        actions.append(.arm(at: now + milliseconds * 1_000_000))
    }

    private var step: Step? {
        switch state {
        case .preparing(let step), .reloading(let step): step
        case .away, .unused, .loaded: nil
        }
    }

    private mutating func answered(_ answer: Answer, _ actions: inout [ServerAction]) {
        switch (step, answer) {
        case (.loading, .functionsLoaded):
            isReloadFutile = false
            enter(.checkingServer, &actions)
        // A user without that right relies on a deploy user who has loaded them.
        case (.loading, .loadFailed(let isTransient)): enter(.checkingFunctions(mayLoad: isTransient), &actions)
        case (.checkingFunctions(let mayLoad), .functionsFound):
            isReloadFutile = !mayLoad
            enter(.checkingServer, &actions)
        case (.checkingFunctions, .functionsMissing(let isTransient)):
            isReloadFutile = false
            if !isTransient {
                lacksFunctions = lacksFunctions || isLoaded
                state = .preparing(.waitingToLoad)
                condition = "lacks Fanfare's functions"
            }
            wait(.waitingToLoad, milliseconds: Self.loadPauseMs, &actions)
        case (.checkingFunctions, .noProject): state = isLoaded ? .loaded : .unused
        case (.checkingServer, .serverUnknown): wait(.waitingToCheck, milliseconds: Self.serverPauseMs, &actions)
        case (.checkingServer, .server(_, .some(let remedy))):
            condition = "cannot be used: \(remedy)"
            wait(.waitingToCheck, milliseconds: Self.remedyPauseMs, &actions)
        case (.checkingServer, .server(let runID, nil)): use(runID, &actions)
        default: preconditionFailure("No such call is in flight.")
        }
    }

    private mutating func use(_ runID: String?, _ actions: inout [ServerAction]) {
        // Without a run id it counts as another server: writing results again does no harm.
        let isSameServer = !wasUsed || (runID != nil && self.runID == runID)
        if !isSameServer, runID != nil { actions.append(.reportReplaced) }
        if wasUsed, !isLoaded, !lacksFunctions { actions.append(.reportReconnected) }
        (wasUsed, lacksFunctions, condition) = (true, false, "")
        self.runID = runID
        state = .loaded
        actions.append(.use(isSameServer: isSameServer))
    }
}

/// The actions that a driver performs for a ``ServerSession``.
public enum ServerAction: Equatable, Sendable {
    /// Loads the functions.
    case load
    /// Calls a function, to see whether another user has loaded them.
    case checkFunctions
    /// Reads the server's run id and configuration.
    case checkServer
    case arm(at: UInt64)
    case reportReload, reportReplaced, reportReconnected
    /// Projects may work.
    case use(isSameServer: Bool)
}
