import Testing

@testable import EventLoop
@testable import FanfareWorker

@Suite struct SharedTimersTests {
    private let loop: EventLoop
    private let timers: SharedTimers

    init() throws {
        loop = try EventLoop()
        timers = SharedTimers(loop: loop)
    }

    /// Otherwise each of a thousand projects would wake the loop.
    @Test func equalIntervalsEndInOneTurn() {
        var times: [UInt64] = []
        _ = timers.every(milliseconds: 100) { times.append(loop.now) }
        loop.advance(milliseconds: 30)
        _ = timers.every(milliseconds: 100) { times.append(loop.now) }
        loop.advance(milliseconds: 200)
        #expect(times.count == 4)
        #expect(times[0] == times[1] && times[2] == times[3] && times[2] - times[0] == 100_000_000)
    }

    @Test func intervalsAreIndependentAndEndWithTheirOwnId() {
        var heard = ""
        let first = timers.every(milliseconds: 10) { heard += "a" }
        _ = timers.every(milliseconds: 10) { heard += "b" }
        _ = timers.every(milliseconds: 25) { heard += "c" }
        loop.advance(milliseconds: 20)
        #expect(heard == "abab")
        timers.cancel(first)
        loop.advance(milliseconds: 10)
        #expect(heard == "ababcb")
        timers.close()
        loop.advance(milliseconds: 100)
        #expect(heard == "ababcb", "no timer is left")
    }
}
