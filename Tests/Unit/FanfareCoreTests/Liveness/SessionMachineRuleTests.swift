import Testing

@testable import FanfareCore

/// The rules of the session that its states do not show.
@Suite struct SessionMachineRuleTests {
    typealias Trial = SessionMachineTests.Trial
    typealias Event = SessionMachineTests.Event

    private static let second: UInt64 = 1_000_000_000

    @Test(arguments: Event.allCases) func nothingOfAnEarlierConnectionCounts(_ event: Event) {
        for setUp in [[Event.connected], [.connected, .comparisonFailed, .registrationFailed]] {
            var trial = Trial()
            for event in setUp { trial.handle(event) }
            let late = event.event(trial.machine.connection)
            switch late {
            case .answered, .timer: break
            default: continue
            }
            for next in [Event.disconnected, .connected] {
                trial.handle(next)
                let before = (trial.machine.state, trial.machine.registration)
                #expect(trial.handle(event: late) == [])
                #expect(before == (trial.machine.state, trial.machine.registration))
            }
        }
    }

    /// An unanswered claim would look like a lost one: its batches would be given back.
    @Test func comparisonWaitsForTheCallsInFlight() {
        var trial = Trial()
        trial.isQuiet = false
        let wait = SessionAction.arm(.quiet, at: 10_000_000)
        #expect(trial.handle(.connected, now: 0) == [.createGroup, wait, .register])
        #expect(trial.handle(.quiet, now: 0) == [wait])
        trial.isQuiet = true
        #expect(trial.handle(.quiet, now: 0).contains(.compare(isSameServer: true)))
    }

    @Test(arguments: ["lease", "drain", "calls", "time"]) func comparisonIsNotRepeatedWith(_ condition: String) {
        var trial = Trial.at(.ready(since: 0))
        switch condition {
        case "lease": trial.leaseHolds = false
        case "drain": trial.handle(event: .drain)
        case "calls": trial.isQuiet = false
        default: break
        }
        let now = condition == "time" ? 10 * Self.second : SessionMachineTests.now
        #expect(trial.handle(.tick, now: now) == [])
        #expect(trial.machine.state == .ready(since: 0))
    }

    // MARK: A failover

    /// The next connection is to the same server, which still lacks what the one before it lacked.
    @Test func failoverCountsUntilAComparisonIsAnswered() {
        var trial = Trial()
        for event in [Event.failedOver, .comparisonFailed, .disconnected] { trial.handle(event) }
        #expect(trial.machine.missedFailover)
        #expect(trial.handle(.connected).contains(.compare(isSameServer: false)))
        trial.handle(.compared)
        #expect(!trial.machine.missedFailover)
        trial.handle(.disconnected)
        #expect(trial.handle(.connected).contains(.compare(isSameServer: true)))
    }

    @Test func failoverWhileTheProjectWasClosedCounts() {
        var trial = Trial(missedFailover: true)
        let actions = trial.handle(.connected)
        #expect(actions.contains(.readNewsAgain) && actions.contains(.open(isSameServer: false)))
    }

    /// It lasts three seconds from the connection, whatever the comparison took.
    @Test func newPrimaryIsUsedAfterThePause() {
        var trial = Trial()
        trial.handle(.failedOver, now: 0)
        #expect(trial.handle(.compared, now: Self.second) == [.forget(["j/0"]), .arm(.pause, at: 3 * Self.second)])
        #expect(trial.handle(.pause, now: 2 * Self.second) == [.arm(.pause, at: 3 * Self.second)])
        #expect(!trial.machine.isReady)
        #expect(trial.handle(.pause, now: 3 * Self.second) == [.claim])
        #expect(trial.machine.isReady)
    }

    @Test func reconnectionDoesNotEndThePause() {
        var trial = Trial()
        for event in [Event.failedOver, .compared, .disconnected, .connected, .compared] {
            trial.handle(event, now: Self.second)
        }
        #expect(trial.machine.state == .pausing)
    }

    @Test func pauseIsForSentinelsOnly() {
        var machine = SessionMachine(leaseMs: 10_000, pausesAfterFailover: false)
        let moment = SessionMachine.Moment(now: 0, isQuiet: true, leaseHolds: true)
        var actions: [SessionAction] = []
        machine.handle(.connected(isSameServer: false), at: moment, into: &actions)
        machine.handle(.answered(.compared(lost: []), connection: 1), at: moment, into: &actions)
        #expect(machine.isReady)
    }

    // MARK: The name

    @Test(arguments: SessionMachineTests.registrations)
    func drainingWorkerDoesNotRegister(_ registration: SessionMachine.Registration) {
        var trial = Trial.at(registration)
        #expect(trial.handle(event: .drain) == [.drain])
        var actions: [SessionAction] = []
        if registration == .outdated || registration == .registering { actions += trial.handle(.registered) }
        for event in [Event.register, .declaredDead, .disconnected, .connected] { actions += trial.handle(event) }
        #expect(!actions.contains(.register))
    }

    /// It registers on the next connection: a call would fail.
    @Test func workerDeclaredDeadWhileAwayRegistersOnTheNextConnection() {
        var trial = Trial.at(.disconnected)
        #expect(trial.handle(.declaredDead) == [.loseLease])
        #expect(trial.handle(.connected).last == .register)
    }

    // MARK: The group and the probe

    @Test func groupThatCannotBeMadeIsTriedAgain() {
        var trial = Trial()
        trial.handle(.connected, now: 0)
        let connection = trial.machine.connection
        let again = SessionAction.arm(.createGroup, at: Self.second)
        #expect(trial.handle(event: .answered(.groupFailed, connection: connection), now: 0) == [again])
        #expect(trial.handle(event: .timer(.createGroup, connection: connection)) == [.createGroup])
        #expect(!trial.machine.hasGroup)
        trial.handle(event: .answered(.groupCreated, connection: connection))
        #expect(trial.machine.hasGroup)
        #expect(trial.handle(event: .timer(.createGroup, connection: connection)) == [])
        #expect(trial.handle(event: .answered(.groupFailed, connection: connection)) == [])
    }

    @Test func groupThatIsMissingIsMadeOnAConnection() {
        var trial = Trial()
        #expect(trial.handle(event: .groupMissing) == [])
        trial.handle(.connected)
        #expect(trial.handle(event: .groupMissing) == [.createGroup])
    }

    @Test func probeIsRepeatedWithEachComparisonUntilItSucceeds() {
        var trial = Trial(needsProbe: true)
        trial.handle(.connected, now: 0)
        #expect(trial.handle(.compared, now: 0) == [.forget(["j/0"]), .probe, .claim])
        trial.handle(.tick)
        #expect(trial.handle(.compared) == [.forget(["j/0"]), .probe, .claim])
        trial.handle(event: .answered(.probed, connection: trial.machine.connection))
        trial.handle(.tick, now: 60 * Self.second)
        #expect(trial.handle(.compared) == [.forget(["j/0"]), .claim])
    }
}
