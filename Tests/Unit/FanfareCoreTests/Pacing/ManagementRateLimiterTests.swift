import FanfareCore
import Testing

@Suite struct ManagementRateLimiterTests {
    static let goodForNs = ManagementRateLimiter.goodForNs

    @Test func asksForABlockAndUsesItUp() {
        var allowance = ManagementRateLimiter()
        #expect(allowance.take(1, ahead: 1, now: 5) == .ask(1))
        #expect(allowance.take(1, ahead: 40, now: 5) == .ask(40))
        #expect(allowance.take(1, ahead: 4_000, now: 5) == .ask(100))
        #expect(allowance.take(1_000, ahead: 4_000, now: 5) == .ask(1_000))
        allowance.grant(100, now: 10)
        for _ in 0..<100 { #expect(allowance.take(1, ahead: 4_000, now: 10) == .go) }
        #expect(allowance.take(1, ahead: 4_000, now: 10) == .ask(100))
    }

    /// A part of a request's leave is worth nothing by the time that the other part comes.
    @Test func aRemainderIsNotAddedTo() {
        var allowance = ManagementRateLimiter()
        allowance.grant(100, now: 0)
        #expect(allowance.take(60, ahead: 60, now: 1) == .go)
        #expect(allowance.take(1_000, ahead: 1_000, now: 2) == .ask(1_000))
        allowance.grant(1_000, now: 400_000_000)
        #expect(allowance.take(1_000, ahead: 1_000, now: 400_000_001) == .go)
        #expect(allowance.take(1, ahead: 1, now: 400_000_002) == .ask(1))
    }

    @Test func leaveIsGoodForAMoment() {
        var allowance = ManagementRateLimiter()
        allowance.grant(10, now: 1_000)
        #expect(allowance.take(5, ahead: 10, now: 1_000 + Self.goodForNs) == .go)
        #expect(allowance.take(5, ahead: 5, now: 1_001 + Self.goodForNs) == .ask(5))
    }
}
