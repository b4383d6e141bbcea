import Testing

@testable import FanfareCore

@Suite struct AdaptiveThrottleTests {
    private static let ms: UInt64 = 1_000_000
    private static let second: UInt64 = 1_000_000_000

    @Test(arguments: [(-1, 100), (0, 100), (50, 100), (51, 102), (2_000, 4_000), (Int.max, 1_000_000_000)])
    func holdsTwoRoundsOfSends(inFlight: Int, capacity: Int) {
        let budget = AdaptiveThrottle(maximumInFlight: inFlight)
        #expect(budget.capacity == capacity)
        #expect(budget.available(now: 0) == capacity)
        #expect(budget.available(now: .max) == capacity)
    }

    @Test func saysWhenTheNextSendMayGo() {
        var budget = AdaptiveThrottle(maximumInFlight: 50)
        #expect(budget.nextAt(now: 0) == nil)
        for _ in 0..<100 { #expect(budget.spend(now: 0) == true) }
        #expect(budget.spend(now: 0) == false)
        #expect(budget.nextAt(now: 0) == 100 * Self.ms)
        #expect(budget.nextAt(now: 40 * Self.ms) == 100 * Self.ms)
        #expect(budget.spend(now: 99 * Self.ms) == false)
        #expect(budget.nextAt(now: 100 * Self.ms) == nil)
        #expect(budget.spend(now: 100 * Self.ms) == true)
    }

    @Test func clockThatStandsOrGoesBackRefillsNothing() {
        var budget = AdaptiveThrottle(maximumInFlight: 50)
        for _ in 0..<100 { #expect(budget.spend(now: 10 * Self.second) == true) }
        #expect(budget.spend(now: 0) == false)
        #expect(budget.spend(now: 10 * Self.second) == false)
        #expect(budget.available(now: 11 * Self.second) == 10)
    }

    @Test func aGoodAnswerPaysForTwo() {
        var budget = AdaptiveThrottle(maximumInFlight: 50)
        for _ in 0..<100 { #expect(budget.spend(now: 0) == true) }
        budget.accepted()
        #expect(budget.available(now: 0) == 2)
        for _ in 0..<1_000 { budget.accepted() }
        #expect(budget.available(now: 0) == 100)
    }

    /// While at least half of the answers are good nothing is held back, whatever the rate.
    @Test(arguments: 0..<20)
    func halfOfTheAnswersAreEnough(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var budget = AdaptiveThrottle(maximumInFlight: 500)
        var good: [Bool] = []
        for _ in 0..<20_000 {
            if good.isEmpty { good = [true, true, true, false, false].shuffled(using: &random) }
            #expect(budget.spend(now: 0) == true)
            if good.removeLast() { budget.accepted() }
        }
    }

    /// A closed loop: up to `inFlight` sends in flight, each answered after 50 ms. Sends begun in each second.
    private func run(seconds: Int, inFlight most: Int, isUp: (Int) -> Bool) -> [Int] {
        var budget = AdaptiveThrottle(maximumInFlight: most)
        var answers: [Int: (good: Int, bad: Int)] = [:]
        var underWay = 0
        var perSecond = [Int](repeating: 0, count: seconds)
        for millisecond in 0..<seconds * 1_000 {
            if let (good, bad) = answers.removeValue(forKey: millisecond) {
                underWay -= good + bad
                for _ in 0..<good { budget.accepted() }
            }
            while underWay < most, budget.spend(now: UInt64(millisecond) * Self.ms) {
                underWay += 1
                perSecond[millisecond / 1_000] += 1
                let up = isUp(millisecond)
                answers[millisecond + 50, default: (0, 0)].good += up ? 1 : 0
                answers[millisecond + 50, default: (0, 0)].bad += up ? 0 : 1
            }
        }
        return perSecond
    }

    @Test func anOutageIsNotHammered() {
        let rates = run(seconds: 30, inFlight: 100) { $0 < 5_000 }
        #expect(rates[4] == 2_000)
        // The capacity, what the answers still in flight returned, and ten a second.
        #expect(rates[5...].reduce(0, +) <= 200 + 200 + 25 * 10)
        for rate in rates[7...] { #expect(rate == 10) }
    }

    @Test func recoveryDoublesWithEachRoundTrip() {
        let rates = run(seconds: 20, inFlight: 500) { !(5_000..<15_000).contains($0) }
        #expect(rates[14] == 10)
        // 10 a second find it; then twice as many every 50 ms: the second after it is not yet at full speed.
        #expect(rates[15] > 100)
        #expect(rates[15] < 10_000)
        #expect(rates[17] == 10_000)
    }

    @Test(arguments: 0..<100)
    func inAnOutageAnyPeriodIsBounded(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var budget = AdaptiveThrottle(maximumInFlight: Int.random(in: 1...300, using: &random))
        var now: UInt64 = 0
        var granted: [UInt64] = []
        for _ in 0..<2_000 {
            now += UInt64.random(in: 0...30, using: &random) * Self.ms
            if let next = budget.nextAt(now: now) {
                #expect(next > now)
                #expect(budget.spend(now: now) == false)
                if Bool.random(using: &random) { now = next }
            }
            if budget.spend(now: now) { granted.append(now) }
        }
        for (index, from) in granted.enumerated() where index % 37 == 0 {
            let end = from + UInt64.random(in: 0...20, using: &random) * Self.second
            let sends = granted[index...].prefix { $0 < end }.count
            #expect(sends <= budget.capacity + Int((end - from) / (100 * Self.ms)) + 1)
        }
    }
}
