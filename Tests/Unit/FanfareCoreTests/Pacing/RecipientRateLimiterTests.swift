import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct RecipientRateLimiterTests {
    private static let hour: Int64 = 3_600_000

    @Test func aNameHoldsTheKind() {
        #expect(RecipientRateLimiter.name("x", kind: .topic) == "topic:x")
    }

    @Test func recipientIsSentToWhileNoneWasRefused() {
        let limiter = RecipientRateLimiter()
        func name() -> String {
            Issue.record("no name is made")
            return ""
        }
        #expect(limiter.decide(name(), repeats: 0, nowMs: 0) == .send)
    }

    /// (time after a refusal until 1,000, sends in the last minute) → decision.
    @Test(
        arguments: [
            ("token:a", 999, 0, .wait(untilMs: 1_000)),
            ("token:a", 1_000, 0, .check),
            ("token:a", 1_000 + hour - 1, 0, .check),
            ("token:a", 1_000 + hour, 0, .send),
            ("token:a", 1_000 + hour, CountMinSketch.paceFrom, .check),
            ("token:b", 0, 0, .send),
            ("topic:a", 0, 0, .send),
            ("token:b", 0, CountMinSketch.paceFrom - 1, .send),
            ("token:b", 0, CountMinSketch.paceFrom, .check),
        ] as [(String, Int64, Int, RecipientRateLimiter.Decision)]
    )
    func aRefusedRecipientIsSlowed(name: String, nowMs: Int64, repeats: Int, decision: RecipientRateLimiter.Decision) {
        var limiter = RecipientRateLimiter()
        limiter.refuse("token:a", untilMs: 1_000, nowMs: 0)
        #expect(limiter.decide(name, repeats: repeats, nowMs: nowMs) == decision)
    }

    @Test func frequentRecipientIsCheckedWhileNoneWasRefused() {
        #expect(RecipientRateLimiter().decide("token:a", repeats: CountMinSketch.paceFrom, nowMs: 0) == .check)
    }

    @Test func theLongestRefusalCounts() {
        var limiter = RecipientRateLimiter()
        limiter.refuse("a", untilMs: 5_000, nowMs: 0)
        limiter.refuse("a", untilMs: 2_000, nowMs: 0)
        #expect(limiter.decide("a", repeats: 0, nowMs: 3_000) == .wait(untilMs: 5_000))
    }

    /// A refusal in the past is remembered for an hour from now.
    @Test func aLateRefusalIsRememberedFromNow() {
        var limiter = RecipientRateLimiter()
        limiter.refuse("a", untilMs: 0, nowMs: 50_000)
        #expect(limiter.decide("a", repeats: 0, nowMs: 50_000 + Self.hour - 1) == .check)
        #expect(limiter.decide("a", repeats: 0, nowMs: 50_000 + Self.hour) == .send)
    }

    @Test func forgottenRecipientsLeaveNoTrace() {
        var limiter = RecipientRateLimiter()
        for number in 0..<100 { limiter.refuse("\(number)", untilMs: 0, nowMs: Int64(number)) }
        limiter.refuse("last", untilMs: 0, nowMs: 2 * Self.hour)
        #expect("\(limiter)".contains("last") && !"\(limiter)".contains("\"7\""))
    }
}
