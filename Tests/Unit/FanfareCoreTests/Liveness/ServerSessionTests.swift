import Testing

@testable import FanfareCore

/// Every pair of a state and an event: the rows of the table, answers that no call in flight can have, which trap, and
/// events that change nothing.
@Suite struct ServerSessionTests {
    typealias State = ServerSession.State
    typealias Row = (state: State, event: Event, next: State, actions: [ServerAction])

    private static let second: UInt64 = 1_000_000_000
    static let now = 10 * second

    enum Event: CaseIterable {
        case connected, disconnected, timer, functionMissing, projectOpened
        case functionsLoaded, loadFailed, loadFailedForNow, functionsFound, functionsMissing, functionsMissingForNow
        case noProject, serverUnknown, server, otherServer, wrongServer

        var answer: ServerSession.Answer? {
            switch self {
            case .connected, .disconnected, .timer, .functionMissing, .projectOpened: nil
            case .functionsLoaded: .functionsLoaded
            case .loadFailed: .loadFailed(isTransient: false)
            case .loadFailedForNow: .loadFailed(isTransient: true)
            case .functionsFound: .functionsFound
            case .functionsMissing: .functionsMissing(isTransient: false)
            case .functionsMissingForNow: .functionsMissing(isTransient: true)
            case .noProject: .noProject
            case .serverUnknown: .serverUnknown
            case .server: .server(runID: "a", remedy: nil)
            case .otherServer: .server(runID: "b", remedy: nil)
            case .wrongServer: .server(runID: "a", remedy: "change it")
            }
        }

        func event(_ connection: Int) -> ServerSession.Event {
            if let answer { return .answered(answer, connection: connection) }
            switch self {
            case .connected: return .connected
            case .disconnected: return .disconnected
            case .timer: return .timer(connection: connection)
            case .functionMissing: return .functionMissing
            default: return .projectOpened
            }
        }
    }

    struct Trial {
        var session = ServerSession()

        @discardableResult mutating func handle(_ event: Event, now: UInt64 = ServerSessionTests.now) -> [ServerAction]
        {
            var actions: [ServerAction] = []
            session.handle(event.event(session.connection), now: now, into: &actions)
            return actions
        }

        /// A session that has used server `a` before.
        static func at(_ state: State) -> Trial {
            var trial = Trial()
            for event in [Event.connected, .functionsLoaded, .server] { trial.handle(event, now: 0) }
            let path: [Event] =
                switch state {
                case .away: [.disconnected]
                case .unused: [.connected, .loadFailed, .noProject]
                case .loaded: []
                case .preparing(let step): [.connected] + self.path(step)
                case .reloading(let step): [.functionMissing] + self.path(step)
                }
            for event in path { trial.handle(event, now: 0) }
            return trial
        }

        private static func path(_ step: ServerSession.Step) -> [Event] {
            switch step {
            case .loading: []
            case .checkingFunctions(let mayLoad): [mayLoad ? .loadFailedForNow : .loadFailed]
            case .checkingServer: [.functionsLoaded]
            case .waitingToLoad: [.loadFailed, .functionsMissing]
            case .waitingToCheck: [.functionsLoaded, .serverUnknown]
            }
        }
    }

    static let states: [State] = [
        .away, .unused, .loaded, .preparing(.loading), .preparing(.checkingFunctions(mayLoad: false)),
        .preparing(.checkingServer), .preparing(.waitingToLoad), .preparing(.waitingToCheck), .reloading(.loading),
        .reloading(.checkingFunctions(mayLoad: false)), .reloading(.checkingServer),
    ]

    private static let checking = ServerSession.Step.checkingFunctions(mayLoad: false)

    private static func arm(_ milliseconds: UInt64) -> [ServerAction] { [.arm(at: now + milliseconds * 1_000_000)] }

    private static let connections: [Row] = states.flatMap { state -> [Row] in
        [(state, .connected, .preparing(.loading), [.load]), (state, .disconnected, .away, [])]
    }

    private static let beginnings: [Row] = [
        (.unused, .functionMissing, .preparing(.loading), [.reportReload, .load]),
        (.unused, .projectOpened, .preparing(.loading), [.load]),
        (.loaded, .functionMissing, .reloading(.loading), [.reportReload, .load]),
        (.preparing(.waitingToLoad), .timer, .preparing(.loading), [.load]),
        (.preparing(.waitingToCheck), .timer, .preparing(.checkingServer), [.checkServer]),
    ]

    private static let preparing: [Row] = [
        (.preparing(.loading), .functionsLoaded, .preparing(.checkingServer), [.checkServer]),
        (.preparing(.loading), .loadFailed, .preparing(checking), [.checkFunctions]),
        (.preparing(.loading), .loadFailedForNow, .preparing(.checkingFunctions(mayLoad: true)), [.checkFunctions]),
        (.preparing(checking), .functionsFound, .preparing(.checkingServer), [.checkServer]),
        (.preparing(checking), .functionsMissing, .preparing(.waitingToLoad), arm(2_000)),
        (.preparing(checking), .functionsMissingForNow, .preparing(.waitingToLoad), arm(2_000)),
        (.preparing(checking), .noProject, .unused, []),
        (.preparing(.checkingServer), .serverUnknown, .preparing(.waitingToCheck), arm(500)),
        (.preparing(.checkingServer), .wrongServer, .preparing(.waitingToCheck), arm(5_000)),
        (.preparing(.checkingServer), .server, .loaded, [.reportReconnected, .use(isSameServer: true)]),
        (
            .preparing(.checkingServer), .otherServer, .loaded,
            [.reportReplaced, .reportReconnected, .use(isSameServer: false)]
        ),
    ]

    /// Projects work meanwhile: only missing functions stop them.
    private static let reloading: [Row] = [
        (.reloading(.loading), .functionsLoaded, .reloading(.checkingServer), [.checkServer]),
        (.reloading(.loading), .loadFailed, .reloading(checking), [.checkFunctions]),
        (.reloading(.loading), .loadFailedForNow, .reloading(.checkingFunctions(mayLoad: true)), [.checkFunctions]),
        (.reloading(checking), .functionsFound, .reloading(.checkingServer), [.checkServer]),
        (.reloading(checking), .functionsMissing, .preparing(.waitingToLoad), arm(2_000)),
        (.reloading(checking), .functionsMissingForNow, .loaded, []),
        (.reloading(checking), .noProject, .loaded, []),
        (.reloading(.checkingServer), .serverUnknown, .loaded, []),
        (.reloading(.checkingServer), .wrongServer, .loaded, []),
        (.reloading(.checkingServer), .server, .loaded, [.use(isSameServer: true)]),
        (.reloading(.checkingServer), .otherServer, .loaded, [.reportReplaced, .use(isSameServer: false)]),
    ]

    static let rows = connections + beginnings + preparing + reloading

    private static func row(_ state: State, _ event: Event) -> Row? {
        rows.first { $0.state == state && $0.event == event }
    }

    @Test func eachRowLeadsToItsState() {
        for (state, event, next, actions) in Self.rows {
            var trial = Trial.at(state)
            #expect(trial.session.state == state)
            #expect(trial.handle(event) == actions, "\(state) \(event)")
            #expect(trial.session.state == next, "\(state) \(event)")
        }
    }

    @Test func otherEventsChangeNothing() {
        for state in Self.states {
            for event in Event.allCases where event.answer == nil && Self.row(state, event) == nil {
                var trial = Trial.at(state)
                #expect(trial.handle(event) == [] && trial.session.state == state, "\(state) \(event)")
            }
        }
    }

    /// By the places of the states: an exit test takes nothing else along. One answer of each, as all trap in one place.
    @Test(arguments: states.indices) func answerWithoutACallInFlightTraps(place: Int) async {
        await #expect(processExitsWith: .failure) { [place] in
            let state = Self.states[place]
            let event = Event.allCases.first { $0.answer != nil && Self.row(state, $0) == nil } ?? .server
            var trial = Trial.at(state)
            trial.handle(event)
        }
    }

    @Test(arguments: Event.allCases) func nothingOfAnEarlierConnectionCounts(_ event: Event) {
        guard event.answer != nil || event == .timer else { return }
        for state in Self.states {
            var trial = Trial.at(state)
            let late = event.event(trial.session.connection)
            trial.handle(.connected)
            var actions: [ServerAction] = []
            trial.session.handle(late, now: Self.now, into: &actions)
            #expect(actions == [] && trial.session.state == .preparing(.loading))
        }
    }

    // MARK: The same server

    @Test func firstServerIsTheSameAndAnUnknownOneIsNot() {
        var trial = Trial()
        for event in [Event.connected, .functionsLoaded] { trial.handle(event) }
        #expect(trial.handle(.server) == [.use(isSameServer: true)])
        for event in [Event.connected, .functionsLoaded] { trial.handle(event) }
        var actions: [ServerAction] = []
        let unknown = ServerSession.Answer.server(runID: nil, remedy: nil)
        trial.session.handle(.answered(unknown, connection: trial.session.connection), now: 0, into: &actions)
        #expect(actions == [.reportReconnected, .use(isSameServer: false)])
    }

    /// The functions were lost, and not the connection: Redis was not away.
    @Test func serverThatLackedItsFunctionsWasNotAway() {
        var trial = Trial.at(.reloading(Self.checking))
        for event in [Event.functionsMissing, .timer, .functionsLoaded] { trial.handle(event) }
        #expect(trial.handle(.server) == [.use(isSameServer: true)])
    }

    @Test func conditionLastsUntilTheServerIsUsed() {
        var trial = Trial.at(.preparing(.checkingServer))
        trial.handle(.wrongServer)
        #expect(trial.session.condition == "cannot be used: change it" && !trial.session.isLoaded)
        for event in [Event.timer, .server] { trial.handle(event) }
        #expect(trial.session.condition == "" && trial.session.isLoaded)
        for event in [Event.connected, .loadFailed, .functionsMissing] { trial.handle(event) }
        #expect(trial.session.condition == "lacks Fanfare's functions")
    }

    // MARK: Reloads

    @Test func functionsAreLoadedAgainOnceInTwoSeconds() {
        var trial = Trial.at(.loaded)
        let reload: [ServerAction] = [.reportReload, .load]
        func again(_ now: UInt64) -> [ServerAction] {
            let actions = trial.handle(.functionMissing, now: now)
            if !actions.isEmpty { for event in [Event.functionsLoaded, .server] { trial.handle(event, now: now) } }
            return actions
        }
        #expect(again(0) == reload)
        #expect(again(Self.second) == [])
        #expect(again(2 * Self.second) == reload)
    }

    /// This user may not load functions, and Redis has an older library: a reload helps once an hour.
    @Test func futileReloadIsRepeatedOnceAnHour() {
        var trial = Trial.at(.loaded)
        for event in [Event.functionMissing, .loadFailed, .functionsFound, .server] { trial.handle(event, now: 0) }
        #expect(trial.handle(.functionMissing, now: 10 * Self.second) == [.reportReload, .load])
        for event in [Event.loadFailed, .functionsFound, .server] { trial.handle(event, now: 10 * Self.second) }
        #expect(trial.handle(.functionMissing, now: 3_600 * Self.second) == [])
        #expect(trial.handle(.functionMissing, now: 3_610 * Self.second) == [.reportReload, .load])
    }
}
