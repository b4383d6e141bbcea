import FanfareCore
import Testing

@Suite struct TokenEndpointClockTests {
    private static let unixMs: Int64 = 1_800_000_000_000

    @Test func signsByTheMachinesTimeAtFirst() {
        var clock = TokenEndpointClock()
        #expect(clock.sign(nowMs: 5_000, machineUnixMs: Self.unixMs) == Self.unixMs)
        #expect(clock.sign(nowMs: 6_000, machineUnixMs: Self.unixMs + 7) == Self.unixMs + 7)
    }

    @Test func signsByTheEndpointsTimeAfterARefusal() {
        var clock = TokenEndpointClock()
        _ = clock.sign(nowMs: 5_000, machineUnixMs: Self.unixMs + 600_000)
        #expect(clock.correct(endpointUnixMs: Self.unixMs, nowMs: 5_000) == 600_000)
        #expect(clock.sign(nowMs: 5_250, machineUnixMs: 0) == Self.unixMs + 250)
    }

    @Test(arguments: [(nil, false), (30_000, false), (-30_000, false), (30_001, true), (-30_001, true)])
    func smallOrUnknownDifferenceIsNotCorrected(ahead: Int64?, isCorrected: Bool) {
        var clock = TokenEndpointClock()
        _ = clock.sign(nowMs: 0, machineUnixMs: Self.unixMs)
        let correction = clock.correct(endpointUnixMs: ahead.map { Self.unixMs - $0 }, nowMs: 0)
        #expect(correction == (isCorrected ? ahead : nil))
    }

    @Test func correctsTwiceBetweenTwoTokens() {
        var clock = TokenEndpointClock()
        func correct() -> Bool {
            _ = clock.sign(nowMs: 0, machineUnixMs: Self.unixMs)
            return clock.correct(endpointUnixMs: clock.sign(nowMs: 0, machineUnixMs: Self.unixMs) - 60_000, nowMs: 0)
                != nil
        }
        #expect(correct() && correct() && !correct())
        clock.accepted()
        #expect(correct())
    }

    @Test func resetReturnsToTheMachinesTime() {
        var clock = TokenEndpointClock()
        _ = clock.sign(nowMs: 0, machineUnixMs: Self.unixMs)
        _ = clock.correct(endpointUnixMs: 0, nowMs: 0)
        clock.reset()
        #expect(clock == TokenEndpointClock() || clock.sign(nowMs: 0, machineUnixMs: 9) == 9)
    }
}
