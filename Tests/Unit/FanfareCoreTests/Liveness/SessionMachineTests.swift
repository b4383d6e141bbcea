import Testing

@testable import FanfareCore

/// Every pair of a state and an event has its row: a next state and the actions, or nil where the machine itself cannot
/// produce the event.
@Suite struct SessionMachineTests {
    typealias Row<State> = (state: State, event: Event, next: State?, actions: [SessionAction])

    /// Three leases after the start.
    static let now: UInt64 = 30_000_000_000

    enum Event: String, CaseIterable {
        case connected, failedOver, disconnected, compared, comparisonFailed, quiet, compare, pause, tick, close
        case registered, registrationFailed, register, declaredDead

        static let ofComparison: [Event] = [
            .connected, .failedOver, .disconnected, .compared, .comparisonFailed, .quiet, .compare, .pause, .tick,
            .close,
        ]
        static let ofName: [Event] = [
            .connected, .disconnected, .registered, .registrationFailed, .register, .declaredDead,
        ]

        func event(_ connection: Int) -> SessionMachine.Event {
            switch self {
            case .connected: .connected(isSameServer: true)
            case .failedOver: .connected(isSameServer: false)
            case .disconnected: .disconnected
            case .compared: .answered(.compared(lost: ["j/0"]), connection: connection)
            case .comparisonFailed: .answered(.comparisonFailed, connection: connection)
            case .quiet: .timer(.quiet, connection: connection)
            case .compare: .timer(.compare, connection: connection)
            case .pause: .timer(.pause, connection: connection)
            case .tick: .tick
            case .close: .close
            case .registered: .answered(.registered(newsCursor: "9", askedNs: 7), connection: connection)
            case .registrationFailed: .answered(.registrationFailed, connection: connection)
            case .register: .timer(.register, connection: connection)
            case .declaredDead: .declaredDead
            }
        }
    }

    /// A machine that the events have led to its states.
    struct Trial {
        var machine: SessionMachine
        var actions: [SessionAction] = []
        var isQuiet = true
        var leaseHolds = true

        init(needsProbe: Bool = false, missedFailover: Bool = false) {
            machine = SessionMachine(
                leaseMs: 10_000,
                pausesAfterFailover: true,
                needsProbe: needsProbe,
                missedFailover: missedFailover
            )
        }

        /// - Returns: the actions of the event.
        @discardableResult mutating func handle(event: SessionMachine.Event, now: UInt64 = SessionMachineTests.now)
            -> [SessionAction]
        {
            let moment = SessionMachine.Moment(now: now, isQuiet: isQuiet, leaseHolds: leaseHolds)
            var actions: [SessionAction] = []
            machine.handle(event, at: moment, into: &actions)
            return actions
        }

        @discardableResult mutating func handle(_ event: Event, now: UInt64 = SessionMachineTests.now)
            -> [SessionAction]
        {
            handle(event: event.event(machine.connection), now: now)
        }

        /// The name is held in all of them.
        static func at(_ state: SessionMachine.State) -> Trial {
            var trial = Trial()
            trial.handle(.connected, now: 0)
            trial.handle(.registered, now: 0)
            trial.handle(.disconnected, now: 0)
            switch state {
            case .disconnected: break
            case .awaiting:
                trial.isQuiet = false
                trial.handle(.connected, now: 0)
                trial.isQuiet = true
            case .comparing: trial.handle(.connected, now: 0)
            case .retrying: for event in [Event.connected, .comparisonFailed] { trial.handle(event, now: 0) }
            case .pausing:
                for event in [Event.failedOver, .compared] {
                    trial.handle(event, now: SessionMachineTests.now - 3_000_000_000)
                }
            case .ready: for event in [Event.connected, .compared] { trial.handle(event, now: 0) }
            case .rechecking:
                for event in [Event.connected, .compared] { trial.handle(event, now: 0) }
                trial.handle(.tick, now: SessionMachineTests.now - 1)
            case .closed: trial.handle(.close, now: 0)
            }
            return trial
        }

        static func at(_ registration: SessionMachine.Registration) -> Trial {
            var trial = Trial()
            switch registration {
            case .unknown: break
            case .registering: trial.handle(.connected)
            case .outdated: for event in [Event.connected, .declaredDead] { trial.handle(event) }
            case .waiting: for event in [Event.connected, .registrationFailed] { trial.handle(event) }
            case .held: for event in [Event.connected, .registered] { trial.handle(event) }
            }
            return trial
        }
    }

    // MARK: The comparison

    static let states: [SessionMachine.State] = [
        .disconnected, .awaiting, .comparing, .retrying, .pausing, .ready(since: 0), .rechecking, .closed,
    ]

    private static let comparison: [SessionAction] = [
        .open(isSameServer: true), .compare(isSameServer: true), .writeAgain,
    ]
    private static let afterConnection: [SessionAction] = [.createGroup] + comparison + [.claim]
    private static let afterFailover: [SessionAction] = [
        .createGroup, .readNewsAgain, .open(isSameServer: false), .compare(isSameServer: false), .writeAgain, .claim,
    ]

    /// What a state does with a new connection, the loss of one, and its end: in each of them the same.
    private static func common(_ state: SessionMachine.State) -> [Row<SessionMachine.State>] {
        [
            (state, .connected, .comparing, afterConnection), (state, .failedOver, .comparing, afterFailover),
            (state, .disconnected, .disconnected, [.cut]), (state, .close, .closed, [.stop]),
        ]
    }

    private static let work: [SessionAction] = [.forget(["j/0"]), .claim]
    private static let ready = SessionMachine.State.ready(since: now)

    private static let ownRows: [Row<SessionMachine.State>] = [
        (.disconnected, .compared, nil, []),
        (.disconnected, .comparisonFailed, nil, []),
        (.disconnected, .quiet, .disconnected, []),
        (.disconnected, .compare, .disconnected, []),
        (.disconnected, .pause, .disconnected, []),
        (.disconnected, .tick, .disconnected, []),

        (.awaiting, .compared, nil, []),
        (.awaiting, .comparisonFailed, nil, []),
        (.awaiting, .quiet, .comparing, comparison),
        (.awaiting, .compare, .awaiting, []),
        (.awaiting, .pause, .awaiting, []),
        (.awaiting, .tick, .awaiting, []),

        (.comparing, .compared, ready, work),
        (.comparing, .comparisonFailed, .retrying, [.cut, .arm(.compare, at: now + 200_000_000)]),
        (.comparing, .quiet, .comparing, []),
        (.comparing, .compare, .comparing, []),
        (.comparing, .pause, .comparing, []),
        (.comparing, .tick, .comparing, []),

        (.retrying, .compared, nil, []),
        (.retrying, .comparisonFailed, nil, []),
        (.retrying, .quiet, .retrying, []),
        (.retrying, .compare, .comparing, comparison),
        (.retrying, .pause, .retrying, []),
        (.retrying, .tick, .retrying, []),

        (.pausing, .compared, nil, []),
        (.pausing, .comparisonFailed, nil, []),
        (.pausing, .quiet, .pausing, []),
        (.pausing, .compare, .pausing, []),
        (.pausing, .pause, ready, [.claim]),
        (.pausing, .tick, .pausing, []),

        (.ready(since: 0), .compared, nil, []),
        (.ready(since: 0), .comparisonFailed, nil, []),
        (.ready(since: 0), .quiet, .ready(since: 0), []),
        (.ready(since: 0), .compare, .ready(since: 0), []),
        (.ready(since: 0), .pause, .ready(since: 0), []),
        (.ready(since: 0), .tick, .rechecking, [.compare(isSameServer: true)]),

        (.rechecking, .compared, ready, work),
        (.rechecking, .comparisonFailed, ready, []),
        (.rechecking, .quiet, .rechecking, []),
        (.rechecking, .compare, .rechecking, []),
        (.rechecking, .pause, .rechecking, []),
        (.rechecking, .tick, .rechecking, []),
    ]

    private static let lastRows: [Row<SessionMachine.State>] = Event.ofComparison.map { (.closed, $0, .closed, []) }

    static let rows = states.dropLast().flatMap(common) + ownRows + lastRows

    @Test func everyPairHasOneRow() {
        #expect(Self.rows.count == Self.states.count * Event.ofComparison.count)
        for state in Self.states {
            for event in Event.ofComparison {
                #expect(Self.rows.count { $0.state == state && $0.event == event } == 1, "\(state) \(event)")
            }
        }
    }

    @Test func eachRowLeadsToItsState() {
        for (state, event, next, actions) in Self.rows {
            var trial = Trial.at(state)
            #expect(trial.machine.state == state)
            guard let next else { continue }
            #expect(trial.handle(event) == actions, "\(state) \(event)")
            #expect(trial.machine.state == next, "\(state) \(event)")
            #expect(trial.machine.isReady == (next == Self.ready || next == .rechecking || next == .ready(since: 0)))
        }
    }

    /// By their places in the table: an exit test takes nothing else along.
    static let traps = rows.indices.filter { rows[$0].next == nil }

    @Test(arguments: traps) func aRowWithoutAStateTraps(row: Int) async {
        await #expect(processExitsWith: .failure) { [row] in
            var trial = Trial.at(Self.rows[row].state)
            trial.handle(Self.rows[row].event)
        }
    }

    // MARK: The name

    static let registrations: [SessionMachine.Registration] = [.unknown, .registering, .outdated, .waiting, .held]

    private static let again: [SessionAction] = [.arm(.register, at: now + 1_000_000_000)]
    private static let hold: [SessionAction] = [.hold(newsCursor: "9", since: 7), .claim]

    /// Of the actions of a connection only the last one is about the name.
    private static func ofConnection(_ state: SessionMachine.Registration) -> [Row<SessionMachine.Registration>] {
        [(state, .connected, .registering, [.register]), (state, .disconnected, .unknown, [.cut])]
    }

    private static let ownRowsOfTheName: [Row<SessionMachine.Registration>] = [
        (.unknown, .registered, nil, []),
        (.unknown, .registrationFailed, nil, []),
        (.unknown, .register, .unknown, []),
        (.unknown, .declaredDead, .unknown, [.loseLease]),

        (.registering, .registered, .held, hold),
        (.registering, .registrationFailed, .waiting, again),
        (.registering, .register, .registering, []),
        (.registering, .declaredDead, .outdated, [.loseLease]),

        (.outdated, .registered, .registering, [.register]),
        (.outdated, .registrationFailed, .waiting, again),
        (.outdated, .register, .outdated, []),
        (.outdated, .declaredDead, .outdated, [.loseLease]),

        (.waiting, .registered, nil, []),
        (.waiting, .registrationFailed, nil, []),
        (.waiting, .register, .registering, [.register]),
        (.waiting, .declaredDead, .registering, [.loseLease, .register]),

        (.held, .connected, .held, [.claim]),
        (.held, .disconnected, .held, [.cut]),
        (.held, .registered, nil, []),
        (.held, .registrationFailed, nil, []),
        (.held, .register, .held, []),
        (.held, .declaredDead, .registering, [.loseLease, .register]),
    ]

    static let rowsOfTheName = registrations.dropLast().flatMap(ofConnection) + ownRowsOfTheName

    @Test func everyPairOfTheNameHasOneRow() {
        #expect(Self.rowsOfTheName.count == Self.registrations.count * Event.ofName.count)
        for state in Self.registrations {
            for event in Event.ofName {
                #expect(Self.rowsOfTheName.count { $0.state == state && $0.event == event } == 1, "\(state) \(event)")
            }
        }
    }

    @Test func eachRowLeadsToItsRegistration() {
        for (state, event, next, actions) in Self.rowsOfTheName {
            var trial = Trial.at(state)
            #expect(trial.machine.registration == state)
            guard let next else { continue }
            let all = trial.handle(event)
            #expect((event == .connected ? all.suffix(1) : all) == actions, "\(state) \(event)")
            #expect(trial.machine.registration == next && trial.machine.isRegistered == (next == .held))
        }
    }

    static let trapsOfTheName = rowsOfTheName.indices.filter { rowsOfTheName[$0].next == nil }

    @Test(arguments: trapsOfTheName) func aRowOfTheNameWithoutAStateTraps(row: Int) async {
        await #expect(processExitsWith: .failure) { [row] in
            var trial = Trial.at(Self.rowsOfTheName[row].state)
            trial.handle(Self.rowsOfTheName[row].event)
        }
    }
}
