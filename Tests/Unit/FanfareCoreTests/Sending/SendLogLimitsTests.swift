import Testing

@testable import FanfareCore

@Suite struct SendLogLimitsTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func eachKindOfLineComesOnceAMinute() {
        var limits = SendLogLimits()
        for (now, isAdmitted) in [(0, true), (59 * Self.second, false), (60 * Self.second, true)] {
            #expect(limits.admitsRefusal(now: now) == isAdmitted)
            #expect(limits.admitsRefusedToken(now: now) == isAdmitted)
            #expect(limits.admitsAlert(now: now) == isAdmitted)
        }
    }

    /// The log has as many ends of a block as begins.
    @Test func endOfABlockIsLoggedOnlyAfterItsBegin() {
        var limits = SendLogLimits()
        #expect(limits.admitsBlockEnd() == false)
        #expect([0, 100 * Self.second].map { limits.admitsBlock(now: $0) } == [true, false])
        #expect((0..<2).map { _ in limits.admitsBlockEnd() } == [true, false])
        // Within a minute of the first one.
        #expect(limits.admitsBlock(now: 59 * Self.second) == false)
        #expect(limits.admitsBlockEnd() == false)
        #expect(limits.admitsBlock(now: 60 * Self.second) == true)
    }

    @Test func holdNamesAnAnswerOfTheLastSeconds() {
        var limits = SendLogLimits()
        #expect(limits.holdReason(now: 0) == "FCM's answers to other workers")
        limits.askedToWait("HTTP 429 QUOTA_EXCEEDED", now: 10)
        #expect(limits.holdReason(now: 5 * Self.second) == "HTTP 429 QUOTA_EXCEEDED")
        #expect(limits.holdReason(now: 5 * Self.second + 10) == "FCM's answers to other workers")
    }

    @Test func refusedOperationsAreBoundedByTheirWords() {
        var limits = SendLogLimits()
        for number in 0..<16 { #expect(limits.admitsOperation("error \(number)", nowMs: 0) == true) }
        for (nowMs, isAdmitted) in [(Int64(59_999), false), (60_000, true)] {
            #expect(["error 3", "another"].allSatisfy { limits.admitsOperation($0, nowMs: nowMs) == isAdmitted })
        }
    }

    @Test func unreadableJobIsLoggedOnceAMinute() {
        var limits = SendLogLimits()
        #expect(["a", "b", "a"].map { limits.admitsUnreadable($0, now: 0) } == [true, true, false])
        #expect(limits.admitsUnreadable("a", now: 60 * Self.second) == true)
    }
}
