import FanfareCore
import Testing

@Suite struct CredentialMachineTests {
    private static let hour: Int64 = 3_600_000

    @Test func oneFetchHoweverManyAsk() {
        var machine = CredentialMachine()
        #expect(machine.poll(nowMs: 0) == .fetch)
        #expect(machine.poll(nowMs: 0) == .none)
        #expect(machine.readiness(nowMs: 0) == .wait)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 100)
        #expect(machine.readiness(nowMs: 100) == .ready(1))
    }

    @Test func renewsFiveMinutesEarlyWhileTheOldOneWorks() {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        #expect(machine.poll(nowMs: Self.hour - 300_001) == .none)
        #expect(machine.poll(nowMs: Self.hour - 300_000) == .fetch)
        #expect(machine.readiness(nowMs: Self.hour - 1) == .ready(1))
        #expect(machine.readiness(nowMs: Self.hour) == .wait)
    }

    @Test func aShortTokenIsNotRenewedWithoutEnd() {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        machine.fetched(lifetimeMs: 10_000, nowMs: 0)
        #expect(machine.poll(nowMs: 8_000) == .none)
        #expect(machine.poll(nowMs: 9_000) == .fetch)
    }

    @Test func onlyARefusalOfTheCurrentTokenCounts() {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        machine.refused(0)
        #expect(machine.readiness(nowMs: 1) == .ready(1))
        machine.refused(1)
        #expect(machine.readiness(nowMs: 1) == .wait)
        #expect(machine.poll(nowMs: 1) == .fetch)
        machine.refused(1)
        #expect(machine.poll(nowMs: 1) == .none)
    }

    @Test func anUnreachableEndpointIsAskedAgainWithGrowingPatience() {
        var machine = CredentialMachine()
        var now: Int64 = 0
        _ = machine.poll(nowMs: now)
        for wait in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] as [Int64] {
            machine.fetchDelayed(nowMs: now)
            #expect(machine.poll(nowMs: now + wait - 1) == .none)
            #expect(machine.poll(nowMs: now + wait) == .fetch)
            now += wait
        }
    }

    /// The times in the request were wrong and are known now: no patience is needed, and no person.
    @Test(arguments: [false, true]) func wrongTimesAreAskedWithAgainAtOnce(hasToken: Bool) {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        if hasToken {
            machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
            #expect(machine.poll(nowMs: Self.hour - 300_000) == .fetch)
        }
        machine.fetchAgain()
        #expect(machine.readiness(nowMs: Self.hour - 300_000) == (hasToken ? .ready(1) : .wait))
        #expect(machine.poll(nowMs: Self.hour - 300_000) == .fetch)
        #expect(machine.poll(nowMs: Self.hour - 300_000) == .none)
        #expect(!machine.isStuck(nowMs: Self.hour - 300_000))
    }

    @Test func aWorkerThatGetsNoTokenIsStuckUntilItHasOne() {
        var machine = CredentialMachine()
        #expect(!machine.isStuck(nowMs: 0))
        _ = machine.poll(nowMs: 0)
        #expect(!machine.isStuck(nowMs: 0))
        machine.fetchDelayed(nowMs: 0)
        #expect(machine.isStuck(nowMs: 0))
        _ = machine.poll(nowMs: 1_000)
        #expect(machine.isStuck(nowMs: 1_000))
        machine.fetched(lifetimeMs: Self.hour, nowMs: 1_000)
        #expect(!machine.isStuck(nowMs: 1_000))
        // While the old token works, a fetch that fails matters to nobody.
        _ = machine.poll(nowMs: Self.hour)
        machine.fetchDelayed(nowMs: Self.hour)
        #expect(!machine.isStuck(nowMs: Self.hour + 999))
        #expect(machine.isStuck(nowMs: Self.hour + 1_000))
    }

    @Test func aRefusedCredentialWaitsForTheProbe() {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        machine.fetchRefused(reason: "invalid_grant", nowMs: 0)
        #expect(machine.readiness(nowMs: 1) == .failed(reason: "invalid_grant"))
        #expect(machine.poll(nowMs: 1_000_000) == .none)
        machine.forceRetry()
        #expect(machine.poll(nowMs: 1_000_000) == .fetch)
    }

    @Test func aRefusalWhileTheOldTokenWorksStopsNothing() {
        var machine = CredentialMachine()
        _ = machine.poll(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        _ = machine.poll(nowMs: Self.hour - 300_000)
        machine.fetchRefused(reason: "invalid_grant", nowMs: Self.hour - 299_000)
        #expect(machine.readiness(nowMs: Self.hour - 200_000) == .ready(1))
    }
}
