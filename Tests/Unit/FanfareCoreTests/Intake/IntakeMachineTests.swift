import StreamWire
import Testing

@testable import FanfareCore

@Suite struct IntakeMachineTests {
    private typealias Machine = IntakeMachine<TestEntry>
    private static let second: UInt64 = 1_000_000_000
    private static let entry = TestEntry("a", 100)

    /// A machine that has one entry in flight.
    private func machine(_ entry: TestEntry = entry) -> Machine {
        var machine = Machine()
        _ = machine.texts(.received([entry]))
        return machine
    }

    @Test func receivedEntriesAreCheckedInTheirOrder() {
        var machine = Machine()
        #expect(machine.isIdle)
        #expect(machine.texts(.received([TestEntry("a", 1), TestEntry("b", 1)])) == ["check a", "check b"])
        #expect(!machine.isIdle && machine.demand(now: 0).room == IntakeBuffer<TestEntry>.maximumEntries - 2)
    }

    private static let compactJob = ["count accepted", "permits 0", "activate a 7 of 7 1", "read"]

    @Test(
        arguments: [
            (.taken(epoch: "7", permits: 3), true, ["count accepted", "permits 3", "activate a 7", "read"]),
            (.taken(epoch: "7", permits: 3), false, ["count accepted", "permits 3", "read"]),
            (.taken(epoch: "7", permits: 0, held: "7 1"), true, Self.compactJob),
            (.taken(epoch: "7", permits: 1, held: "7 1"), false, ["count accepted", "permits 1", "read"]),
            (.queued, true, ["count accepted", "claim a", "read"]), (.done, true, ["count accepted", "read"]),
            (.duplicate, true, ["count duplicate", "read"]), (.gone, true, ["read"]),
            (nil, true, ["unreadable", "read"]),
        ] as [(IntakeReply?, Bool, [String])]
    )
    func handOverEndsTheEntry(_ reply: IntakeReply?, isOurs: Bool, actions: [String]) {
        var machine = machine()
        #expect(machine.texts(.answered(Self.entry, reply: reply, isOurs: isOurs)) == actions)
        #expect(machine.isIdle)
    }

    @Test(arguments: [(true, ["count rejected", "read"]), (false, ["read"])])
    func refusedEntryIsRejectedAndThenEnds(isNew: Bool, actions: [String]) {
        var machine = machine()
        #expect(machine.texts(.answered(Self.entry, reply: .reject(reason: "why"), isOurs: true)) == ["reject a why"])
        #expect(!machine.isIdle)
        #expect(machine.texts(.rejected(Self.entry, isNew: isNew)) == actions)
        #expect(machine.isIdle)
    }

    @Test func endedEntryMakesRoomForWaitingOnes() {
        let large = IntakeBuffer<TestEntry>.maximumBytes
        var machine = Machine()
        let entries = ["a", "b", "c"].map { TestEntry($0, large) }
        #expect(machine.texts(.received(entries)) == ["check a"])
        #expect(machine.demand(now: 0).isFull)
        #expect(machine.texts(.answered(entries[0], reply: .gone, isOurs: true)) == ["check b", "read"])
        #expect(machine.texts(.rejected(entries[1], isNew: false)) == ["check c", "read"])
    }

    @Test func failedEntryIsLeftOverAndReadAgain() {
        var machine = machine()
        let now = 5 * Self.second
        #expect(machine.texts(.failed(Self.entry), now: now) == ["read"])
        #expect(machine.isIdle && machine.demand(now: now).room == 0)
        #expect(machine.demand(now: now).leftovers == .later)
        #expect(machine.demand(now: now + Self.second).leftovers == .readable)
        #expect(machine.texts(.leftoversReread).isEmpty)
        #expect(machine.demand(now: now + Self.second).leftovers == .none)
    }

    @Test func postponedEntryIsReadAgainAndStopsNoOther() {
        let large = IntakeBuffer<TestEntry>.maximumBytes
        var machine = Machine()
        let entries = ["a", "b"].map { TestEntry($0, large) }
        let now = 5 * Self.second
        #expect(machine.texts(.received(entries)) == ["check a"])
        #expect(machine.texts(.postponed(entries[0]), now: now) == ["check b", "read"])
        #expect(machine.texts(.answered(entries[1], reply: .done, isOurs: true)) == ["count accepted", "read"])
        #expect(machine.isIdle && machine.demand(now: now).room > 0 && machine.demand(now: now).leftovers == .later)
        #expect(machine.demand(now: now + Self.second).leftovers == .readable)
    }

    @Test func foundLeftoversAreReadAfterEntriesInFlight() {
        var machine = machine()
        #expect(machine.texts(.leftoversFound).isEmpty)
        #expect(machine.demand(now: 0).leftovers == .due)
        _ = machine.texts(.answered(Self.entry, reply: .done, isOurs: true))
        #expect(machine.demand(now: 0).leftovers == .readable)
    }
}

extension IntakeMachine<TestEntry> {
    /// Handles an event and lists the actions as texts.
    fileprivate mutating func texts(_ event: Event, now: UInt64 = 0) -> [String] {
        var actions: [Action] = []
        handle(event, now: now, into: &actions)
        return actions.map { action in
            switch action {
            case .check(let entry): "check \(entry.name)"
            case .reject(let entry, let reason): "reject \(entry.name) \(reason)"
            case .creditPermits(let permits, _): "permits \(permits)"
            case .activate(let entry, let epoch, let held?): "activate \(entry.name) \(epoch) of \(held)"
            case .activate(let entry, let epoch, nil): "activate \(entry.name) \(epoch)"
            case .claim(let entry): "claim \(entry.name)"
            case .count(let outcome): "count \(outcome)"
            case .reportUnreadable: "unreadable"
            case .read: "read"
            }
        }
    }
}
