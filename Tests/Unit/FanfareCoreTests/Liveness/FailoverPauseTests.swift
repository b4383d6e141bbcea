import Testing

@testable import FanfareCore

@Suite struct FailoverPauseTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func sameServerNeedsNoPause() {
        var pause = FailoverPause()
        #expect(pause.remainingNs(now: 0) == 0)
        pause.connected(isSameServer: true, now: 10 * Self.second)
        #expect(pause.remainingNs(now: 10 * Self.second) == 0)
    }

    @Test func anotherServerBeginsAPauseOfThreeSeconds() {
        var pause = FailoverPause()
        pause.connected(isSameServer: false, now: 10 * Self.second)
        #expect(pause.remainingNs(now: 10 * Self.second) == 3 * Self.second)
        #expect(pause.remainingNs(now: 12 * Self.second) == Self.second)
        #expect(pause.remainingNs(now: 13 * Self.second) == 0)
    }

    @Test func reconnectionDoesNotEndThePause() {
        var pause = FailoverPause()
        pause.connected(isSameServer: false, now: 10 * Self.second)
        pause.connected(isSameServer: true, now: 11 * Self.second)
        #expect(pause.remainingNs(now: 12 * Self.second) == Self.second)
    }

    @Test func secondFailoverBeginsThePauseAnew() {
        var pause = FailoverPause()
        pause.connected(isSameServer: false, now: 10 * Self.second)
        pause.connected(isSameServer: false, now: 12 * Self.second)
        #expect(pause.remainingNs(now: 14 * Self.second) == Self.second)
    }
}
