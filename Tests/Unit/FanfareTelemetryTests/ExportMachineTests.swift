import Testing

@testable import FanfareTelemetry

@Suite struct ExportMachineTests {
    private var machine = ExportMachine(limits: .init(intervalMs: 5_000, holdMs: 60_000), nowMs: 0)

    @Test mutating func partOfARequestWaitsForTheInterval() {
        #expect(machine.poll(.some, nowMs: 4_999) == nil)
        #expect(machine.poll(.none, nowMs: 5_000) == nil)
        #expect(machine.poll(.some, nowMs: 5_000) == .send)
    }

    @Test mutating func wholeRequestIsSentAtOnce() {
        #expect(machine.poll(.full, nowMs: 1) == .send)
        #expect(machine.ended(.accepted, nowMs: 2, jitter: 0) == .exported)
        #expect(machine.poll(.full, nowMs: 2) == .send)
    }

    @Test mutating func oneRequestIsInFlight() {
        #expect(machine.poll(.full, nowMs: 1) == .send)
        #expect(machine.poll(.full, nowMs: 100_000) == nil)
        machine.withdrawn()
        #expect(machine.poll(.full, nowMs: 100_000) == .send)
    }

    @Test mutating func unavailableCollectorGetsTheSameRequestAfterABackoffThatDoubles() {
        #expect(machine.poll(.full, nowMs: 0) == .send)
        var (now, waits): (Int64, [Int64]) = (0, [])
        for _ in 1...5 {
            #expect(machine.ended(.unavailable(retryAfterMs: nil), nowMs: now, jitter: 0) == .hold)
            let start = now
            while machine.poll(.full, nowMs: now) != .resend { now += 100 }
            waits.append(now - start)
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000])
        #expect(machine.ended(.accepted, nowMs: now, jitter: 0) == .exported)
        #expect(machine.failures == 0 && machine.poll(.full, nowMs: now) == .send)
    }

    @Test mutating func backoffHasAnUpperBoundAndJitterShortensItByHalfAtMost() {
        for (jitter, expected) in [(0.0, Int64(30_000)), (1.0, 15_000)] {
            var machine = ExportMachine(limits: .init(intervalMs: 5_000, holdMs: 0), nowMs: 0)
            var now: Int64 = 0
            for _ in 1...50 {
                while machine.poll(.full, nowMs: now) == nil { now += 500 }
                #expect(machine.ended(.refused, nowMs: now, jitter: jitter) == .failed)
            }
            #expect(machine.poll(.full, nowMs: now + expected - 1) == nil)
            #expect(machine.poll(.full, nowMs: now + expected) == .send)
        }
    }

    @Test mutating func retryAfterReplacesTheBackoffUpToItsBound() {
        #expect(machine.poll(.full, nowMs: 0) == .send)
        #expect(machine.ended(.unavailable(retryAfterMs: 7_000), nowMs: 0, jitter: 1) == .hold)
        #expect(machine.poll(.full, nowMs: 6_999) == nil)
        #expect(machine.poll(.full, nowMs: 7_000) == .resend)
        // Longer than a request is held for: it is given up, and the next one waits.
        #expect(machine.ended(.unavailable(retryAfterMs: .max), nowMs: 7_000, jitter: 0) == .failed)
        #expect(machine.poll(.full, nowMs: 306_999) == nil)
        #expect(machine.poll(.full, nowMs: 307_000) == .send)
    }

    @Test mutating func requestIsGivenUpAfterItsHoldTime() {
        #expect(machine.poll(.full, nowMs: 0) == .send)
        #expect(machine.ended(.unavailable(retryAfterMs: nil), nowMs: 58_000, jitter: 0) == .hold)
        #expect(machine.poll(.full, nowMs: 59_000) == .resend)
        #expect(machine.ended(.unavailable(retryAfterMs: nil), nowMs: 59_500, jitter: 0) == .failed)
    }

    @Test mutating func refusedRequestIsNeverSentAgain() {
        #expect(machine.poll(.full, nowMs: 0) == .send)
        #expect(machine.ended(.refused, nowMs: 0, jitter: 0) == .failed)
        #expect(machine.poll(.full, nowMs: 999) == nil)
        #expect(machine.poll(.full, nowMs: 1_000) == .send)
    }

    @Test mutating func drainSendsAllWithoutWaiting() {
        machine.drain()
        #expect(!machine.isDrained(.some))
        #expect(machine.poll(.some, nowMs: 1) == .send)
        #expect(!machine.isDrained(.none))
        #expect(machine.ended(.accepted, nowMs: 2, jitter: 0) == .exported)
        #expect(machine.isDrained(.none) && !machine.isDrained(.some))
    }

    @Test mutating func drainEndsAtTheFirstFailure() {
        #expect(machine.poll(.full, nowMs: 0) == .send)
        #expect(machine.ended(.unavailable(retryAfterMs: nil), nowMs: 0, jitter: 0) == .hold)
        machine.drain()
        #expect(!machine.isDrained(.none), "the held request gets one more attempt")
        #expect(machine.poll(.none, nowMs: 1) == .resend)
        #expect(machine.ended(.unavailable(retryAfterMs: 1), nowMs: 2, jitter: 0) == .failed)
        #expect(machine.isDrained(.full) && machine.poll(.full, nowMs: 100_000) == nil)
    }
}
