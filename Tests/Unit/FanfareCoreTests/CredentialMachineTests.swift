import FanfareCore
import Testing

@Suite struct CredentialMachineTests {
    private static let hour: Int64 = 3_600_000

    @Test func oneFetchIsInFlightHoweverOftenItIsPolled() {
        var machine = CredentialMachine()
        #expect(machine.beginFetchIfDue(nowMs: 0) == true)
        #expect(machine.beginFetchIfDue(nowMs: 0) == false)
        #expect(machine.readiness(nowMs: 0) == .wait)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 100)
        #expect(machine.readiness(nowMs: 100) == .ready(1))
    }

    @Test func tokenIsRenewedFiveMinutesEarlyWhileTheOldOneWorks() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        #expect(machine.beginFetchIfDue(nowMs: Self.hour - 300_001) == false)
        #expect(machine.beginFetchIfDue(nowMs: Self.hour - 300_000) == true)
        #expect(machine.readiness(nowMs: Self.hour - 1) == .ready(1))
        #expect(machine.readiness(nowMs: Self.hour) == .wait)
    }

    @Test func shortTokenIsRenewedInItsLastTenth() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: 30_000, nowMs: 0)
        #expect(machine.beginFetchIfDue(nowMs: 26_999) == false)
        #expect(machine.beginFetchIfDue(nowMs: 27_000) == true)
    }

    /// A hundred seconds of an endpoint that grants next to no time, asked every millisecond as by a worker with sends
    /// waiting, and of an FCM that refuses every token after `takenMs`.
    @Test(arguments: [Int64.min, -1, 0, 1, 1_000, 5_000, 9_999, 10_000, 11_000], [Int64.max, 0, 1, 3_000])
    func tokenIsFetchedAtMostOnceInTenSeconds(lifetimeMs: Int64, takenMs: Int64) {
        var machine = CredentialMachine()
        var fetches: [Int64] = []
        var readyMs = 0
        for now in Int64(0)..<100_000 {
            if machine.beginFetchIfDue(nowMs: now) {
                fetches.append(now)
                machine.fetched(lifetimeMs: lifetimeMs, nowMs: now)
            }
            guard case .ready(let generation) = machine.readiness(nowMs: now) else { continue }
            readyMs += 1
            if now - (fetches.last ?? 0) >= takenMs { machine.refused(generation) }
        }
        #expect(zip(fetches, fetches.dropFirst()).allSatisfy { $1 - $0 >= 10_000 }, "\(fetches.prefix(9))")
        #expect(fetches.count >= 9, "and it is asked again: \(fetches.count)")
        // A token is used while it lives; one that was granted no time at all until the next, or until it is refused.
        let life = lifetimeMs <= 0 ? 10_000 : lifetimeMs
        let used = min(life, takenMs == .max ? life : takenMs + 1, 10_000)
        #expect(readyMs >= Int(used - 1) * 9, "\(readyMs)")
        if used < 10_000 { #expect(readyMs <= Int(used) * fetches.count, "\(readyMs)") }
    }

    /// Another API refused the token: a new one is fetched, and sends use the old one until it is there.
    @Test func renewalForAnotherAPIStopsNoSend() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        machine.renew(0)
        #expect(machine.beginFetchIfDue(nowMs: 20_000) == false, "an older token's refusal says nothing")
        machine.renew(1)
        #expect(machine.beginFetchIfDue(nowMs: 9_999) == false)
        #expect(machine.readiness(nowMs: 9_999) == .ready(1))
        #expect(machine.beginFetchIfDue(nowMs: 10_000) == true)
        #expect(machine.readiness(nowMs: 10_000) == .ready(1))
        machine.fetched(lifetimeMs: Self.hour, nowMs: 10_100)
        #expect(machine.readiness(nowMs: 10_100) == .ready(2))
        machine.renew(2)
        #expect(machine.beginFetchIfDue(nowMs: 20_000) == false)
        #expect(machine.beginFetchIfDue(nowMs: 20_100) == true)
    }

    @Test func refusalOfAnOlderTokenIsIgnored() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        machine.refused(0)
        #expect(machine.readiness(nowMs: 1) == .ready(1))
        machine.refused(1)
        #expect(machine.readiness(nowMs: 10_000) == .wait)
        #expect(machine.beginFetchIfDue(nowMs: 10_000) == true)
        machine.refused(1)
        #expect(machine.beginFetchIfDue(nowMs: 10_000) == false)
    }

    @Test func unreachableEndpointIsTriedAgainWithGrowingPauses() {
        var machine = CredentialMachine()
        var now: Int64 = 0
        _ = machine.beginFetchIfDue(nowMs: now)
        for wait in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] as [Int64] {
            machine.fetchDelayed(nowMs: now)
            #expect(machine.beginFetchIfDue(nowMs: now + wait - 1) == false)
            #expect(machine.beginFetchIfDue(nowMs: now + wait) == true)
            now += wait
        }
    }

    @Test func waitThatTheEndpointAsksForIsKeptUpToFiveMinutes() {
        let waits: [(Int64?, Int64)] = [(nil, 1_000), (500, 1_000), (30_000, 30_000), (21_600_000, 300_000)]
        for (asked, wait) in waits {
            var machine = CredentialMachine()
            _ = machine.beginFetchIfDue(nowMs: 0)
            machine.fetchDelayed(nowMs: 0, retryAfterMs: asked)
            #expect(machine.beginFetchIfDue(nowMs: wait - 1) == false)
            #expect(machine.beginFetchIfDue(nowMs: wait) == true)
        }
    }

    @Test func jitterShortensAPauseByAQuarterAtMost() {
        for (jitter, wait) in [(0.0, Int64(1_000)), (0.5, 875), (1.0, 750), (7.0, 750), (-1.0, 1_000)] {
            var machine = CredentialMachine()
            _ = machine.beginFetchIfDue(nowMs: 0)
            machine.fetchDelayed(nowMs: 0, jitter: jitter)
            #expect(machine.beginFetchIfDue(nowMs: wait - 1) == false)
            #expect(machine.beginFetchIfDue(nowMs: wait) == true)
        }
    }

    /// The times in the request were wrong and are known now: no patience is needed, and no operator.
    @Test(arguments: [false, true]) func refusedTimesAreTriedAgainAtOnce(hasToken: Bool) {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        if hasToken {
            machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
            #expect(machine.beginFetchIfDue(nowMs: Self.hour - 300_000) == true)
        }
        machine.fetchAgain()
        #expect(machine.readiness(nowMs: Self.hour - 300_000) == (hasToken ? .ready(1) : .wait))
        #expect(machine.beginFetchIfDue(nowMs: Self.hour - 300_000) == true)
        #expect(machine.beginFetchIfDue(nowMs: Self.hour - 300_000) == false)
        #expect(!machine.isStuck(nowMs: Self.hour - 300_000))
    }

    @Test func workerWithoutATokenIsStuckUntilItHasOne() {
        var machine = CredentialMachine()
        #expect(!machine.isStuck(nowMs: 0))
        _ = machine.beginFetchIfDue(nowMs: 0)
        #expect(!machine.isStuck(nowMs: 0))
        machine.fetchDelayed(nowMs: 0)
        #expect(machine.isStuck(nowMs: 0))
        _ = machine.beginFetchIfDue(nowMs: 1_000)
        #expect(machine.isStuck(nowMs: 1_000))
        machine.fetched(lifetimeMs: Self.hour, nowMs: 1_000)
        #expect(!machine.isStuck(nowMs: 1_000))
        // While the old token works, a fetch that fails changes nothing.
        _ = machine.beginFetchIfDue(nowMs: Self.hour)
        machine.fetchDelayed(nowMs: Self.hour)
        #expect(!machine.isStuck(nowMs: Self.hour + 999))
        #expect(machine.isStuck(nowMs: Self.hour + 1_000))
    }

    @Test func refusedCredentialWaitsForTheProbe() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetchRefused(reason: "invalid_grant", nowMs: 0)
        #expect(machine.readiness(nowMs: 1) == .failed(reason: "invalid_grant"))
        #expect(machine.beginFetchIfDue(nowMs: 1_000_000) == false)
        machine.forceRetry()
        #expect(machine.beginFetchIfDue(nowMs: 1_000_000) == true)
    }

    @Test func refusalWhileTheOldTokenWorksStopsNothing() {
        var machine = CredentialMachine()
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: Self.hour, nowMs: 0)
        _ = machine.beginFetchIfDue(nowMs: Self.hour - 300_000)
        machine.fetchRefused(reason: "invalid_grant", nowMs: Self.hour - 299_000)
        #expect(machine.readiness(nowMs: Self.hour - 200_000) == .ready(1))
    }

    @Test(arguments: [(3_600_000, true), (600_000, true), (599_999, false), (0, false)] as [(Int64, Bool)])
    func tokenIsFreshForAMinuteUnlessItIsShort(lifetimeMs: Int64, isFresh: Bool) {
        var machine = CredentialMachine()
        #expect(!machine.isFresh(nowMs: 0))
        _ = machine.beginFetchIfDue(nowMs: 0)
        machine.fetched(lifetimeMs: lifetimeMs, nowMs: 1_000)
        #expect(machine.isFresh(nowMs: 60_999) == isFresh)
        #expect(!machine.isFresh(nowMs: 61_000))
    }
}
