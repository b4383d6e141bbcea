import Testing

@testable import FanfareCore

@Suite struct ManagementRateLimiterTests {
    static let validNs = ManagementRateLimiter.validNs

    @Test func asksForABlockAndUsesItUp() {
        var allowance = ManagementRateLimiter()
        #expect(allowance.spend(1, ahead: 1, now: 5) == .request(1))
        #expect(allowance.spend(1, ahead: 40, now: 5) == .request(40))
        #expect(allowance.spend(1, ahead: 4_000, now: 5) == .request(100))
        #expect(allowance.spend(1_000, ahead: 4_000, now: 5) == .request(1_000))
        allowance.grant(100, now: 10)
        for _ in 0..<100 { #expect(allowance.spend(1, ahead: 4_000, now: 10) == .go) }
        #expect(allowance.spend(1, ahead: 4_000, now: 10) == .request(100))
    }

    /// A part of a request's leave is worth nothing by the time that the other part comes.
    @Test func aRemainderIsNotAddedTo() {
        var allowance = ManagementRateLimiter()
        allowance.grant(100, now: 0)
        #expect(allowance.spend(60, ahead: 60, now: 1) == .go)
        #expect(allowance.spend(1_000, ahead: 1_000, now: 2) == .request(1_000))
        allowance.grant(1_000, now: 400_000_000)
        #expect(allowance.spend(1_000, ahead: 1_000, now: 400_000_001) == .go)
        #expect(allowance.spend(1, ahead: 1, now: 400_000_002) == .request(1))
    }

    @Test func leaveIsGoodForAMoment() {
        var allowance = ManagementRateLimiter()
        allowance.grant(10, now: 1_000)
        #expect(allowance.spend(5, ahead: 10, now: 1_000 + Self.validNs) == .go)
        #expect(allowance.spend(5, ahead: 5, now: 1_001 + Self.validNs) == .request(5))
    }
}
