import Testing

@testable import FanfareCore

@Suite struct PeerBackoffTests {
    private var backoff = PeerBackoff(limits: .init(holdMs: 86_400_000, firstDelayMs: 5_000, maximumDelayMs: 600_000))

    private mutating func fail(retryAfterMs: Int64? = nil, at nowMs: Int64 = 0, jitter: Double = 0) -> Int64 {
        let mayRepeat = backoff.recordFailure(
            retryAfterMs: retryAfterMs,
            firstAttemptMs: nowMs,
            nowMs: nowMs,
            jitter: jitter
        )
        #expect(mayRepeat)
        return backoff.notBeforeMs - nowMs
    }

    @Test mutating func waitDoublesWithEachFailureUpToItsMaximum() {
        var waits: [Int64] = []
        for _ in 1...9 { waits.append(fail()) }
        #expect(waits == [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000])
    }

    @Test mutating func successEndsTheDoubling() {
        for _ in 1...3 { _ = fail() }
        backoff.recordSuccess()
        #expect(backoff.failures == 0)
        let wait = fail()
        #expect(wait == 5_000)
    }

    @Test(arguments: [(-1.0, Int64(5_000)), (0.5, 3_750), (1, 2_500), (7, 2_500)])
    mutating func jitterShortensTheWaitByUpToAHalf(jitter: Double, wait: Int64) {
        let given = fail(jitter: jitter)
        #expect(given == wait)
    }

    @Test(arguments: [(Int64(7_000), Int64(7_000)), (0, 0), (-9, 0), (.max, 300_000)])
    mutating func retryAfterReplacesTheWaitUpToItsMaximum(retryAfterMs: Int64, wait: Int64) {
        let given = fail(retryAfterMs: retryAfterMs, at: 1_000, jitter: 1)
        #expect(given == wait)
    }

    @Test func requestIsNotRepeatedAfterItsHoldTime() {
        var backoff = PeerBackoff(limits: .init(holdMs: 60_000))
        for (nowMs, mayRepeat) in [(Int64(58_000), true), (58_001, false)] {
            let answer = backoff.recordFailure(retryAfterMs: 2_000, firstAttemptMs: 0, nowMs: nowMs, jitter: 0)
            #expect(answer == mayRepeat, "at \(nowMs)")
        }
        var never = PeerBackoff(limits: .init(holdMs: 0))
        let mayRepeat = never.recordFailure(retryAfterMs: nil, firstAttemptMs: 0, nowMs: 0, jitter: 0)
        #expect(!mayRepeat)
    }

    @Test mutating func manyFailuresDoNotOverflow() {
        for _ in 1...1_000 { _ = fail(at: 1 << 40) }
        #expect(backoff.failures == 32)
        backoff.reset()
        #expect(backoff.failures == 0 && backoff.notBeforeMs == 0)
    }
}
