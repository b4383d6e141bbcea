import Testing

@testable import FanfareCore

@Suite struct ConcurrencyLimitTests {
    private static let ms: UInt64 = 1_000_000

    @Test(arguments: [
        (1_000, 100, 100), (40, 100, 40), (0, 100, 1), (-5, -5, 1), (1_000, 0, 1), (.max, .max, .max),
    ])
    func beginsWithinItsBounds(maximum: Int, initial: Int, limit: Int) {
        #expect(ConcurrencyLimit(maximum: maximum, initial: initial).limit == limit)
    }

    @Test func growsWithEveryAnswerWhileItIsUsed() {
        var limit = ConcurrencyLimit(maximum: 130)
        for _ in 0..<10 { limit.answered(latencyNs: Self.ms, inFlight: 49, now: 0, isOverload: false) }
        #expect(limit.limit == 100)
        for _ in 0..<10 { limit.answered(latencyNs: Self.ms, inFlight: 60, now: 0, isOverload: false) }
        #expect(limit.limit == 110)
        for _ in 0..<100 { limit.answered(latencyNs: Self.ms, inFlight: 130, now: 0, isOverload: false) }
        #expect(limit.limit == 130)
    }

    @Test func growsByOneForEachRoundAfterADecrease() {
        var limit = ConcurrencyLimit(maximum: 1_000)
        // A tenth of the last answers has to say so.
        for _ in 0..<21 {
            limit.answered(latencyNs: Self.ms, inFlight: 100, now: 1_000 * Self.ms, isOverload: true)
            #expect(limit.limit == 100)
        }
        limit.answered(latencyNs: Self.ms, inFlight: 100, now: 1_000 * Self.ms, isOverload: true)
        #expect(limit.limit == 70)
        for _ in 0..<69 { limit.answered(latencyNs: Self.ms, inFlight: 70, now: 1_000 * Self.ms, isOverload: false) }
        #expect(limit.limit == 70)
        limit.answered(latencyNs: Self.ms, inFlight: 70, now: 1_000 * Self.ms, isOverload: false)
        #expect(limit.limit == 71)
    }

    /// One recipient in twenty fails for reasons of its own: that is no reason to send to nobody.
    @Test func aSteadyFewErrorsAreNoOverload() {
        var limit = ConcurrencyLimit(maximum: 1_000, initial: 500)
        for step in UInt64(0)..<20_000 {
            limit.answered(
                latencyNs: 100 * Self.ms,
                inFlight: 500,
                now: (1_000 + step) * Self.ms,
                isOverload: step % 20 == 7
            )
        }
        #expect(limit.limit >= 500)
    }

    /// The same drawn by chance: among a few answers there are often several.
    @Test(arguments: [0.0005, 0.005, 0.05], [UInt64(1), 2, 3])
    func aRandomShareBelowATenthLeavesTheLimitAlone(share: Double, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limit = ConcurrencyLimit(maximum: 1_000, initial: 500)
        var least = 500
        for step in UInt64(0)..<20_000 {
            limit.answered(
                latencyNs: 100 * Self.ms,
                inFlight: limit.limit,
                now: (1_000 + step) * Self.ms,
                isOverload: Double.random(in: 0..<1, using: &random) < share
            )
            least = min(least, limit.limit)
        }
        #expect(least >= 350 && limit.limit >= 500)
    }

    @Test func simultaneousTimeoutsCountOnce() {
        var limit = ConcurrencyLimit(maximum: 1_000)
        // A hundred time out together: they were all sent before the first decrease.
        for index in UInt64(0)..<100 {
            limit.answered(
                latencyNs: 15_000 * Self.ms,
                inFlight: 100,
                now: (20_000 + 100 * index) * Self.ms,
                isOverload: true
            )
        }
        #expect(limit.limit == 70)
        // Quick refusals count at most every 100 ms.
        for step in 0..<200 {
            limit.answered(latencyNs: Self.ms, inFlight: 70, now: (40_000 + UInt64(step)) * Self.ms, isOverload: true)
        }
        #expect(limit.limit == 34)
    }

    @Test(arguments: 0..<50)
    func staysWithinItsBoundsWhateverComes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let maximum = Int.random(in: 1...500, using: &random)
        var limit = ConcurrencyLimit(maximum: maximum)
        let extremes: [UInt64] = [0, 1, .max, .max / 2, 100 * Self.ms, 1_000 * Self.ms]
        for _ in 0..<5_000 {
            limit.answered(
                latencyNs: extremes.randomElement(using: &random) ?? 0,
                inFlight: [.min, -1, 0, 1, 100, .max].randomElement(using: &random) ?? 0,
                now: Bool.random(using: &random) ? random.next() : extremes.randomElement(using: &random) ?? 0,
                isOverload: Int.random(in: 0..<10, using: &random) == 0
            )
            #expect((1...maximum).contains(limit.limit))
        }
    }

    /// Twice the knee, or 200 ms of queue where that is more; never so little that capacity is left unused. A quarter
    /// on top: the first round trip, which sets the baseline, already sees some queue where answers take long.
    @Test(arguments: [(100.0, 300.0), (1_000, 250), (200, 500), (20, 1_000), (1_000, 50)], [UInt64(1), 2, 3])
    func settlesNearTheKnee(server: (capacity: Double, latencyMs: Double), seed: UInt64) {
        let condition = VirtualServer.Condition(capacity: server.capacity, latencyMs: server.latencyMs)
        var world = VirtualServer(limit: ConcurrencyLimit(maximum: 4_000, initial: 10), seed: seed)
        _ = world.run(seconds: 120, condition)
        for _ in 0..<4 {
            let (limit, rate) = world.run(seconds: 30, condition)
            #expect(limit <= 1.25 * condition.knee * max(2, 1 + 200 / condition.latencyMs))
            #expect(rate >= 0.93 * condition.capacity)
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func followsTheKneeDownAndUp(seed: UInt64) {
        let wide = VirtualServer.Condition(capacity: 1_000, latencyMs: 300)
        let narrow = VirtualServer.Condition(capacity: 200, latencyMs: 300)
        var world = VirtualServer(limit: ConcurrencyLimit(maximum: 2_000), seed: seed)
        _ = world.run(seconds: 60, wide)
        _ = world.run(seconds: 60, narrow)
        let slow = world.run(seconds: 30, narrow)
        #expect(slow.limit <= 2.2 * narrow.knee)
        #expect(slow.rate >= 0.93 * 200)
        _ = world.run(seconds: 120, wide)
        #expect(world.run(seconds: 30, wide).rate >= 0.93 * 1_000)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func collapsesInAnOutageAndComesBackFast(seed: UInt64) {
        let healthy = VirtualServer.Condition(capacity: 2_000, latencyMs: 100)
        var broken = healthy
        broken.isFailing = true
        var world = VirtualServer(limit: ConcurrencyLimit(maximum: 400), seed: seed)
        _ = world.run(seconds: 20, healthy)
        let before = world.limit.limit
        _ = world.run(seconds: 5, broken)
        #expect(world.limit.limit == 1)
        #expect(world.run(seconds: 10, broken).limit == 1)
        let recovery = world.run(seconds: 5, healthy)
        #expect(recovery.rate < 2_000)
        #expect(world.limit.limit >= before / 2)
        #expect(world.run(seconds: 5, healthy).rate >= 0.93 * 2_000)
    }

    /// The path became slower and no queue of ours is behind it: a dip, then the same concurrency as before.
    @Test(arguments: [UInt64(1), 2, 3])
    func aSlowerPathIsAccepted(seed: UInt64) {
        let near = VirtualServer.Condition(capacity: 100_000, latencyMs: 50)
        let far = VirtualServer.Condition(capacity: 100_000, latencyMs: 600)
        var world = VirtualServer(limit: ConcurrencyLimit(maximum: 200), seed: seed)
        _ = world.run(seconds: 10, near)
        #expect(world.limit.limit == 200)
        _ = world.run(seconds: 60, far)
        let (limit, _) = world.run(seconds: 10, far)
        #expect(limit == 200)
    }

    /// Where there is little to send, slow answers are not of our making, and a worker must not start the next job
    /// with a limit of 1.
    @Test func aLimitThatIsNotUsedIsLeftAlone() {
        let near = VirtualServer.Condition(capacity: 1_000, latencyMs: 50)
        let far = VirtualServer.Condition(capacity: 1_000, latencyMs: 900)
        var world = VirtualServer(limit: ConcurrencyLimit(maximum: 400), seed: 1)
        _ = world.run(seconds: 20, near, demand: 20)
        _ = world.run(seconds: 60, far, demand: 20)
        #expect(world.limit.limit == 100)
    }
}
