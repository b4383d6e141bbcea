import Testing

@testable import FanfareCore

@Suite struct KeyRateTests {
    /// The wait that a request is refused with; nil if it is admitted.
    private func wait(_ rate: inout KeyRate, _ now: UInt64) -> Int? {
        do throws(KeyFault) { try rate.admit(now: now) } catch {
            guard case .rate(let seconds) = error else { return -1 }
            return seconds
        }
        return nil
    }

    @Test(arguments: [
        (1, 1), (59, 59), (60, 60), (499, 499), (500, 500), (6_000, 500), (30_059, 500), (30_060, 501),
        (600_000, 10_000),
    ])
    func burstIsASecondsShareOrFiveHundredAndAtMostAMinutes(perMinute: Int, burst: Int) {
        var rate = KeyRate(perMinute)
        for _ in 0..<burst { #expect(wait(&rate, 7) == nil) }
        #expect(wait(&rate, 7) == 1 || perMinute < 60)
        #expect(wait(&rate, 7) != nil)
    }

    @Test(arguments: [(1, 30), (2, 30), (3, 20), (4, 15), (7, 9), (60, 1), (600, 1)])
    func waitIsWholeSecondsUntilTheNextOneTo30(perMinute: Int, seconds: Int) {
        var rate = KeyRate(perMinute)
        while wait(&rate, 0) == nil {}
        #expect(wait(&rate, 0) == seconds)
    }

    @Test func waitShrinksAndTheNextRequestIsAdmittedAtItsEnd() {
        var rate = KeyRate(6)
        for _ in 0..<6 { #expect(wait(&rate, 0) == nil) }
        #expect(wait(&rate, 1) == 10)
        #expect(wait(&rate, 7 * KeyTrial.second) == 3)
        #expect(wait(&rate, 10 * KeyTrial.second - 1) == 1)
        #expect(wait(&rate, 10 * KeyTrial.second) == nil)
        #expect(wait(&rate, 10 * KeyTrial.second) == 10, "one token, not two")
    }

    /// Asked every millisecond, the key gets its rate, with at most the burst on top.
    @Test(arguments: [1, 7, 60, 601, 59_999])
    func rateIsReachedAndNotExceeded(perMinute: Int) {
        var rate = KeyRate(perMinute)
        var admitted = 0
        for ms in 0..<120_000 {
            while wait(&rate, UInt64(ms) * 1_000_000) == nil { admitted += 1 }
        }
        let most = 2 * perMinute + min(perMinute, max(500, perMinute / 60))
        #expect(admitted <= most)
        #expect(Double(admitted) >= Double(2 * perMinute) * 0.99)
    }

    @Test func fastestRateAndTheEndOfTimeDoNotTrap() {
        var fast = KeyRate(Int(GatewayKey.rates.upperBound))
        #expect(wait(&fast, 0) == nil)
        var endless = KeyRate(.max)
        #expect(wait(&endless, .max) == nil)
        var last = KeyRate(1)
        #expect(wait(&last, .max) == nil)
        #expect(wait(&last, 0) == 30, "a clock that went back")
    }
}
