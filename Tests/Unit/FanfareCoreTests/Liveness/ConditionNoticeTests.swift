import Testing

@testable import FanfareCore

@Suite struct ConditionNoticeTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func lastingConditionIsReportedAfterItsPatienceThenOnceAMinute() {
        var notice = ConditionNotice(patienceSeconds: 5)
        var warnings: [UInt64] = []
        for second in 0..<130 as Range<UInt64>
        where notice.observe(true, now: second * Self.second) == .warn {
            warnings.append(second)
        }
        #expect(warnings == [5, 65, 125])
        #expect(notice.observe(false, now: 130 * Self.second) == .recover)
        #expect(notice.observe(false, now: 131 * Self.second) == nil)
        #expect(notice.observe(true, now: 132 * Self.second) == nil, "the five seconds begin again")
    }

    @Test func shortGapIsNotReported() {
        var notice = ConditionNotice(patienceSeconds: 5)
        for second in 0..<100 as Range<UInt64> {
            #expect(notice.observe(second % 5 != 4, now: second * Self.second) == nil)
        }
    }
}
