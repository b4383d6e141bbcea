import Testing

@testable import FanfareCore

@Suite struct RetryBudgetTests {
    private static let ms: UInt64 = 1_000_000
    private static let second: UInt64 = 1_000_000_000

    @Test func withoutTrafficTenASecondAreFree() {
        var budget = RetryBudget()
        #expect(budget.room(now: 0) == 100)
        for _ in 0..<100 { budget.sent(isRetry: true, now: 0) }
        #expect(budget.room(now: 0) == 0)
        #expect(budget.room(now: 9 * Self.second) == 0)
        #expect(budget.room(now: 10 * Self.second + 100 * Self.ms) == 100)
    }

    @Test(arguments: [(-3, 0), (0, 0), (1, 1), (10, 10), (20, 20), (50, 50), (90, 90)])
    func theShareIsThatOfAllRequests(percent: Int, counted: Int) {
        var budget = RetryBudget(percent: percent)
        #expect(budget.percent == counted)
        // Evenly mixed traffic with every retry that there is room for: the share is reached and not passed.
        var retries = 0
        var requests = 0
        for step in 0..<20_000 {
            let now = UInt64(step) * Self.ms
            requests += 10
            for _ in 0..<10 { budget.sent(isRetry: false, now: now) }
            while budget.room(now: now) > 0 {
                budget.sent(isRetry: true, now: now)
                retries += 1
                requests += 1
            }
        }
        let share = Double(retries) / Double(requests)
        #expect(share <= Double(counted) / 100 + 0.001)
        #expect(share >= Double(counted) / 100 * 0.9)
    }

    @Test(arguments: [100, 101, Int.max])
    func aHundredPercentIsNoLimit(percent: Int) {
        var budget = RetryBudget(percent: percent)
        for _ in 0..<10_000 { budget.sent(isRetry: true, now: 0) }
        #expect(budget.room(now: 0) == .max)
    }

    @Test func retriesThatWereSentAnywayAreWorkedOff() {
        var budget = RetryBudget()
        for _ in 0..<5_000 { budget.sent(isRetry: true, now: 0) }
        #expect(budget.room(now: 5 * Self.second) == 0)
        #expect(budget.room(now: 11 * Self.second) == 100)
    }

    /// A burst allows no retries to a window that does not see it.
    @Test func retriesDoNotLeanOnABurstOfThePast() {
        var budget = RetryBudget()
        for _ in 0..<10_000 { budget.sent(isRetry: false, now: 0) }
        var retries = 0
        for step in 0..<90 {
            let now = Self.second + UInt64(step) * 100 * Self.ms
            while budget.room(now: now) > 0 {
                budget.sent(isRetry: true, now: now)
                retries += 1
            }
        }
        #expect(retries == 100)
    }

    @Test func anEarlierTimeCountsAsTheLatest() {
        var budget = RetryBudget()
        budget.sent(isRetry: true, now: .max)
        #expect(budget.room(now: 0) == 99)
        budget.sent(isRetry: true, now: 0)
        #expect(budget.room(now: .max) == 98)
    }

    private struct Send {
        var at: UInt64
        var isRetry: Bool
    }

    /// Traffic with quiet times, floods and floods of failures, and as many retries as there is room for, or fewer.
    private func draw(percent: Int, _ random: inout SeededGenerator) -> [Send] {
        var budget = RetryBudget(percent: percent)
        var sends: [Send] = []
        var now = UInt64.random(in: 0...(1 << 60), using: &random)
        while sends.count < 30_000 {
            let fresh = [0, 0, 1, 10, 300].randomElement(using: &random) ?? 0
            let demand = [0, 1, 50, 1_000].randomElement(using: &random) ?? 0
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                now +=
                    UInt64.random(in: 0...([1, 20, 200].randomElement(using: &random) ?? 1), using: &random) * Self.ms
                for _ in 0..<fresh {
                    budget.sent(isRetry: false, now: now)
                    sends.append(Send(at: now, isRetry: false))
                }
                for _ in 0..<min(demand, budget.room(now: now)) {
                    budget.sent(isRetry: true, now: now)
                    sends.append(Send(at: now, isRetry: true))
                }
            }
        }
        return sends
    }

    @Test(arguments: 0..<30)
    func noWindowOfTenSecondsHasMoreThanItsShare(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let percent = [0, 1, 10, 10, 10, 33, 90].randomElement(using: &random) ?? 10
        let sends = draw(percent: percent, &random)
        // Every window that begins at a send and ends with one: from the position, not only from the time, so that
        // even two sends of one instant may lie on either side of its beginning. What a window may hold is checked at
        // its last send, of all windows with this beginning.
        var worst = 0
        var end = 0
        var (retries, requests) = (0, 0)
        for start in sends.indices {
            while end < sends.count,
                sends[end].at < sends[start].at.addingReportingOverflow(10 * Self.second).partialValue
            {
                retries += sends[end].isRetry ? 1 : 0
                requests += 1
                end += 1
            }
            let allowed = max(RetryBudget.freeRetries, requests * percent / 100)
            worst = max(worst, retries - allowed)
            retries -= sends[start].isRetry ? 1 : 0
            requests -= 1
        }
        #expect(worst <= 0)
        #expect(sends.contains { $0.isRetry })
    }
}
