import FanfareModel
import Testing

@Suite struct LogThrottleTests {
    private static let second: UInt64 = 1_000_000_000

    /// The seconds of `calls` at which a throttle of 10 seconds admits a line.
    private func admitted(_ calls: some Sequence<UInt64>) -> [UInt64] {
        var throttle = LogThrottle(seconds: 10)
        return calls.filter { throttle.admits(now: $0 * Self.second) }
    }

    @Test func admitsTheFirstLineAndThenOneInEachInterval() {
        #expect(admitted(5..<45) == [5, 15, 25, 35])
    }

    @Test func admitsTheFirstLineAtClockZero() {
        #expect(admitted([0, 0, 1]) == [0])
    }

    @Test func refusedLineDoesNotProlongTheInterval() {
        #expect(admitted([1, 10, 11]) == [1, 11])
    }

    @Test func resetAdmitsTheNextLine() {
        var throttle = LogThrottle(seconds: 10)
        let first = throttle.admits(now: Self.second)
        throttle.reset()
        let second = throttle.admits(now: 2 * Self.second)
        #expect(first && second)
    }
}
