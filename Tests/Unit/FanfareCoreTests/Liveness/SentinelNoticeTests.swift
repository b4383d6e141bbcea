import Testing

@testable import FanfareCore

@Suite struct SentinelNoticeTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func missingConfirmationIsReportedAfterFiveSecondsThenOnceAMinute() {
        var notice = SentinelNotice()
        var warnings: [UInt64] = []
        for second in 0..<130 as Range<UInt64>
        where notice.observe(isConfirmed: false, now: second * Self.second) == .warn {
            warnings.append(second)
        }
        #expect(warnings == [5, 65, 125])
        #expect(notice.observe(isConfirmed: true, now: 130 * Self.second) == .recover)
        #expect(notice.observe(isConfirmed: true, now: 131 * Self.second) == nil)
        #expect(notice.observe(isConfirmed: false, now: 132 * Self.second) == nil, "the five seconds begin anew")
    }

    @Test func shortGapIsNotReported() {
        var notice = SentinelNotice()
        for second in 0..<100 as Range<UInt64> {
            #expect(notice.observe(isConfirmed: second % 5 == 4, now: second * Self.second) == nil)
        }
    }
}
