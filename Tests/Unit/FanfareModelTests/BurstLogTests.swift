import FanfareModel
import Testing

@Suite struct BurstLogTests {
    /// Whether each of `count` events is logged.
    private func record(_ count: Int, in burst: inout BurstLog) -> [Bool] { (0..<count).map { _ in burst.record() } }

    @Test func firstEventIsLoggedAndOthersAreCounted() {
        var burst = BurstLog()
        let first = record(5, in: &burst)
        let omitted = burst.endInterval()
        #expect(first == [true, false, false, false, false] && omitted == 4)
        // The interval after a count is open.
        let second = record(1, in: &burst)
        let more = burst.endInterval()
        #expect(second == [false] && more == 1)
    }

    @Test func quietIntervalEndsTheBurst() {
        var burst = BurstLog()
        _ = record(1, in: &burst)
        let omitted = burst.endInterval()
        #expect(omitted == 0 && burst == BurstLog())
        let next = record(1, in: &burst)
        #expect(next == [true])
    }
}
