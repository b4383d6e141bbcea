import FanfareCore
import FanfareModel
import Testing

@Suite struct RetryPolicyTests {
    static let unavailable = Failure(error: .unavailable, action: .none, httpStatus: 503)
    static let transport = Failure(error: .transport, action: .none)
    static let start: Int64 = 1_700_000_000_000
    static let hour: Int64 = 3_600_000

    private func decide(
        _ retry: Retry,
        attempts: Int = 1,
        after elapsedMs: Int64 = 0,
        lifetimeMs: Int64? = nil,
        expiresAtMs: Int64 = 0,
        random: Double = 0,
        policy: RetryPolicy = RetryPolicy()
    ) -> RetryDecision {
        policy.decide(
            retry,
            attempts: attempts,
            firstAttemptMs: Self.start,
            nowMs: Self.start + elapsedMs,
            lifetimeMs: lifetimeMs,
            expiresAtMs: expiresAtMs,
            random: random
        )
    }

    @Test(arguments: zip(1...9, [10, 20, 40, 80, 160, 320, 600, 600, 600] as [Int64]))
    func backoffDoublesToTheCap(attempts: Int, seconds: Int64) {
        let retry = Retry(failure: Self.unavailable)
        let now = Self.start + Self.waited(attempts, 10_000)
        let decision = decide(retry, attempts: attempts, after: now - Self.start)
        #expect(decision == .wait(untilMs: now + seconds * 1_000))
        // Full jitter: up to the same again.
        let later = decide(retry, attempts: attempts, after: now - Self.start, random: 0.5)
        #expect(later == .wait(untilMs: now + seconds * 1_500))
    }

    /// How long the waits before an attempt took at least, when every attempt was refused.
    private static func waited(_ attempts: Int, _ stepMs: Int64) -> Int64 {
        (1..<attempts).reduce(0) { $0 + min(600_000, stepMs << Int64($1 - 1)) }
    }

    /// Five crashes in ten seconds make five attempts, and say nothing of FCM.
    @Test func attemptsThatACrashCutShortDoNotLengthenTheBackoff() {
        let retry = Retry(failure: Self.unavailable)
        #expect(decide(retry, attempts: 6, after: 10_000) == .wait(untilMs: Self.start + 10_000 + 20_000))
        #expect(decide(retry, attempts: 6, after: 0) == .wait(untilMs: Self.start + 10_000))
    }

    @Test(arguments: zip(1...5, [60, 120, 240, 480, 600] as [Int64]))
    func aRateLimitStartsAtAMinute(attempts: Int, seconds: Int64) {
        let retry = Retry(failure: Self.unavailable, floorMs: 60_000)
        let waited = Self.waited(attempts, 60_000)
        let decision = decide(retry, attempts: attempts, after: waited)
        #expect(decision == .wait(untilMs: Self.start + waited + seconds * 1_000))
    }

    @Test func retryAfterWinsOverAShorterBackoffOnly() {
        var retry = Retry(failure: Self.unavailable, retryAfterMs: 1_000)
        #expect(decide(retry) == .wait(untilMs: Self.start + 10_000))
        retry.retryAfterMs = 1_800_000
        #expect(decide(retry) == .wait(untilMs: Self.start + 1_800_000))
        #expect(decide(retry, random: 0.5) == .wait(untilMs: Self.start + 1_805_000))
        #expect(decide(retry, attempts: 50) == .wait(untilMs: Self.start + 1_800_000))
    }

    /// Where the simulator takes FCM's place, the demo does not wait for FCM's floors.
    @Test func floorsAreCutToTheirMaximumAndRetryAfterIsNot() {
        var policy = RetryPolicy(baseMs: 1_000)
        policy.maximumFloorMs = 1_000
        var retry = Retry(failure: Self.unavailable, floorMs: 60_000)
        #expect(decide(retry, policy: policy) == .wait(untilMs: Self.start + 1_000))
        #expect(decide(retry, random: 0.5, policy: policy) == .wait(untilMs: Self.start + 1_500))
        retry.retryAfterMs = 5_000
        #expect(decide(retry, policy: policy) == .wait(untilMs: Self.start + 5_000))
    }

    @Test func sixtyMinutesEndTheTrying() {
        let retry = Retry(failure: Self.unavailable)
        #expect(decide(retry, after: Self.hour - 10_001) == .wait(untilMs: Self.start + Self.hour - 1))
        #expect(decide(retry, after: Self.hour - 10_000) == .giveUp(Self.unavailable))
        #expect(decide(retry, after: 2 * Self.hour) == .giveUp(Self.unavailable))
    }

    @Test func jitterAloneNeverEndsTheTrying() {
        let retry = Retry(failure: Self.unavailable)
        let decision = decide(retry, after: Self.hour - 11_000, random: 0.999_999)
        guard case .wait(let until) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(until >= Self.start + Self.hour - 1_000 && until < Self.start + Self.hour)
    }

    @Test func aRetryAfterPastTheEndEndsAtOnce() {
        let retry = Retry(failure: Self.unavailable, retryAfterMs: 6 * Self.hour)
        #expect(decide(retry) == .giveUp(Self.unavailable))
        #expect(decide(retry, expiresAtMs: Self.start + 600_000) == .expired)
        #expect(decide(retry, lifetimeMs: 600_000) == .expired)
        // The hour is over before the message is: that is what ends it.
        let later = Self.start + 3 * Self.hour
        #expect(decide(retry, lifetimeMs: 2 * Self.hour, expiresAtMs: later) == .giveUp(Self.unavailable))
    }

    @Test func expiryAndLifetimeEndAsExpired() {
        let retry = Retry(failure: Self.unavailable)
        #expect(decide(retry, expiresAtMs: Self.start + 10_000) == .expired)
        #expect(decide(retry, expiresAtMs: Self.start + 10_001) == .wait(untilMs: Self.start + 10_000))
        #expect(decide(retry, expiresAtMs: Self.start - 1) == .expired)
        #expect(decide(retry, lifetimeMs: 10_000) == .expired)
        #expect(decide(retry, after: 5_000, lifetimeMs: 15_001) == .wait(untilMs: Self.start + 15_000))
        #expect(decide(retry, lifetimeMs: -5) == .expired)
    }

    /// The wait ends with the recipient, not before: a block may end in it.
    @Test func waitForTheProjectEndsWithTheRecipient() {
        var retry = Retry(failure: Self.unavailable, floorMs: 60_000)
        retry.waitsForExpiry = true
        let expiry = Self.start + 45_000
        #expect(decide(retry, expiresAtMs: expiry) == .wait(untilMs: expiry))
        #expect(decide(retry, lifetimeMs: 45_000) == .wait(untilMs: expiry))
        #expect(decide(retry, after: 45_000, lifetimeMs: 45_000) == .expired)
        #expect(decide(retry, lifetimeMs: 0) == .expired)
        #expect(decide(retry, after: Self.hour) == .giveUp(Self.unavailable))
    }

    @Test func aLifetimeOfZeroAllowsOneAttemptThatFCMMayHaveSeen() {
        #expect(decide(Retry(failure: Self.unavailable), lifetimeMs: 0) == .expired)
        let unsent = Retry(failure: Self.transport, cause: .unsent, floorMs: 1_000, countsAttempt: false)
        #expect(decide(unsent, attempts: 0, lifetimeMs: 0) == .wait(untilMs: Self.start + 1_000))
        let refused = Retry(failure: Self.transport, cause: .refused, floorMs: 1_000)
        #expect(decide(refused, lifetimeMs: 0) == .wait(untilMs: Self.start + 1_000))
    }

    @Test func aLifetimeDoesNotRunBeforeAnAttemptCounts() {
        let unsent = Retry(failure: Self.transport, cause: .unsent, floorMs: 1_000, countsAttempt: false)
        #expect(decide(unsent, attempts: 0, after: 20_000, lifetimeMs: 10_000) == .wait(untilMs: Self.start + 40_000))
        #expect(decide(unsent, attempts: 1, after: 20_000, lifetimeMs: 10_000) == .expired)
    }

    @Test(arguments: zip([0, 1_000, 2_000, 4_000, 29_000, 60_000] as [Int64], [1, 1, 2, 4, 29, 30] as [Int64]))
    func unsentBacksOffWithTheTimeSinceTheFirstTry(elapsed: Int64, seconds: Int64) {
        let unsent = Retry(failure: Self.transport, cause: .unsent, floorMs: 1_000, countsAttempt: false)
        #expect(decide(unsent, attempts: 0, after: elapsed) == .wait(untilMs: Self.start + elapsed + seconds * 1_000))
    }

    @Test func whatNeverReachedFCMEndsAsTransport() {
        let unsent = Retry(failure: Self.transport, cause: .unsent, floorMs: 1_000, countsAttempt: false)
        #expect(decide(unsent, attempts: 0, after: Self.hour) == .giveUp(Self.transport))
    }

    @Test func unansweredAttemptEndsAsUnknown() {
        let lost = Retry(failure: Self.transport, cause: .unanswered, mayHaveArrived: true)
        #expect(decide(lost) == .wait(untilMs: Self.start + 10_000))
        #expect(decide(lost, after: Self.hour) == .unknown(Self.transport))
        #expect(decide(lost, lifetimeMs: 0) == .unknown(Self.transport))
        #expect(decide(lost, expiresAtMs: Self.start + 1) == .unknown(Self.transport))
    }

    @Test func boundsHoldForAnyInput() {
        var generator = SeededGenerator(seed: 21)
        let policy = RetryPolicy()
        for _ in 0..<20_000 {
            let retryAfter = Bool.random(using: &generator) ? nil : Int64.random(in: 1...7_200_000, using: &generator)
            let retry = Retry(
                failure: Self.unavailable,
                retryAfterMs: retryAfter,
                floorMs: Int64.random(in: 0...120_000, using: &generator)
            )
            let now = Self.start + Int64.random(in: 0...Self.hour, using: &generator)
            let attempts = Int.random(in: 0...80, using: &generator)
            let random = Double.random(in: 0..<1, using: &generator)
            let lifetime = Bool.random(using: &generator) ? nil : Int64.random(in: 0...Self.hour, using: &generator)
            func until(_ random: Double, _ attempts: Int) -> Int64? {
                let decision = policy.decide(
                    retry,
                    attempts: attempts,
                    firstAttemptMs: Self.start,
                    nowMs: now,
                    lifetimeMs: lifetime,
                    expiresAtMs: 0,
                    random: random
                )
                if case .wait(let until) = decision { return until }
                return nil
            }
            guard let due = until(random, attempts) else { continue }
            #expect(due >= now + max(10_000, retry.floorMs, retryAfter ?? 0))
            #expect(due < Self.start + min(Self.hour, lifetime ?? .max))
            #expect(due <= now + max(600_000, retryAfter ?? 0) + 600_000)
            // Without jitter a later attempt never waits less.
            if let first = until(0, attempts), let next = until(0, attempts + 1) { #expect(next >= first) }
        }
    }

    @Test func nothingOverflows() {
        let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for first in extremes {
            for now in extremes {
                for other in extremes {
                    for cause in [Retry.Cause.unsent, .answered] {
                        let retry = Retry(failure: Self.transport, cause: cause, retryAfterMs: other, floorMs: other)
                        let policy = RetryPolicy(baseMs: other, capMs: other, shortCapMs: other, triesEndMs: other)
                        for attempts in [Int.min, 0, 1, 63, 64, Int.max] {
                            _ = policy.decide(
                                retry,
                                attempts: attempts,
                                firstAttemptMs: first,
                                nowMs: now,
                                lifetimeMs: other,
                                expiresAtMs: other,
                                random: 0.999_999_999_999
                            )
                        }
                    }
                }
            }
        }
    }
}
