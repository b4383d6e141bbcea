import Testing

@testable import FanfareCore

@Suite struct ManagementRateLimiterTests {
    static let validNs = ManagementRateLimiter.validNs

    @Test func blockIsRequestedAndSpent() {
        func request(_ count: Int, ahead: Int) -> ManagementRateLimiter.Decision {
            var limiter = ManagementRateLimiter()
            return limiter.spend(count, ahead: ahead, now: 5)
        }
        #expect(request(1, ahead: 1) == .request(1))
        #expect(request(1, ahead: 40) == .request(40))
        #expect(request(1, ahead: 4_000) == .request(100))
        #expect(request(1_000, ahead: 4_000) == .request(1_000))
        var limiter = ManagementRateLimiter()
        limiter.grant(100, now: 10)
        for _ in 0..<100 { #expect(limiter.spend(1, ahead: 4_000, now: 10) == .go) }
        #expect(limiter.spend(1, ahead: 4_000, now: 10) == .request(100))
    }

    @Test func oneGrantIsRequestedAtATime() {
        var limiter = ManagementRateLimiter()
        #expect(limiter.spend(1, ahead: 1, now: 5) == .request(1))
        #expect(limiter.spend(1, ahead: 1, now: 6) == .wait)
        limiter.grant(0, now: 7)
        #expect(limiter.spend(1, ahead: 1, now: 8) == .request(1))
    }

    /// A part of a request's leave is worth nothing by the time that the other part comes.
    @Test func aRemainderIsNotAddedTo() {
        var limiter = ManagementRateLimiter()
        limiter.grant(100, now: 0)
        #expect(limiter.spend(60, ahead: 60, now: 1) == .go)
        #expect(limiter.spend(1_000, ahead: 1_000, now: 2) == .request(1_000))
        limiter.grant(1_000, now: 400_000_000)
        #expect(limiter.spend(1_000, ahead: 1_000, now: 400_000_001) == .go)
        #expect(limiter.spend(1, ahead: 1, now: 400_000_002) == .request(1))
    }

    @Test func leaveIsGoodForAMoment() {
        var limiter = ManagementRateLimiter()
        limiter.grant(10, now: 1_000)
        #expect(limiter.spend(5, ahead: 10, now: 1_000 + Self.validNs) == .go)
        #expect(limiter.spend(5, ahead: 5, now: 1_001 + Self.validNs) == .request(5))
    }
}
