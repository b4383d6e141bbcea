import Testing

@testable import FanfareCore

@Suite struct HoldNoticeTests {
    private static let second: UInt64 = 1_000_000_000

    private func observe(_ notice: inout HoldNotice, at second: UInt64, until: UInt64) -> HoldNotice.Action? {
        notice.observe(heldUntil: until * Self.second, now: second * Self.second)
    }

    @Test func holdIsTwoLinesHoweverOftenItIsSeen() {
        var notice = HoldNotice()
        #expect(observe(&notice, at: 99, until: 0) == nil, "nothing was held")
        #expect(observe(&notice, at: 100, until: 130) == .begin)
        for second: UInt64 in 101..<130 { #expect(observe(&notice, at: second, until: 130) == nil) }
        for second: UInt64 in 130..<135 { #expect(observe(&notice, at: second, until: 130) == nil) }
        #expect(observe(&notice, at: 135, until: 130) == .end(heldMs: 30_000, endedNs: 130 * Self.second))
        #expect(observe(&notice, at: 136, until: 130) == nil)
        #expect(observe(&notice, at: 140, until: 141) == .begin, "a later hold is a new one")
    }

    /// FCM that refuses the first send after each hold of a second is one trouble.
    @Test func holdThatFollowsAtOnceContinuesTheFirst() {
        var notice = HoldNotice()
        #expect(observe(&notice, at: 100, until: 101) == .begin)
        for second: UInt64 in stride(from: 102, through: 120, by: 2) {
            #expect(observe(&notice, at: second, until: second + 1) == nil)
            #expect(observe(&notice, at: second + 1, until: second + 1) == nil)
        }
        #expect(observe(&notice, at: 130, until: 121) == .end(heldMs: 21_000, endedNs: 121 * Self.second))
    }

    @Test func extendedHoldEndsWithItsLastEnd() {
        var notice = HoldNotice()
        #expect(observe(&notice, at: 10, until: 20) == .begin)
        #expect(observe(&notice, at: 15, until: 70) == nil)
        #expect(observe(&notice, at: 30, until: 70) == nil)
        #expect(observe(&notice, at: 80, until: 70) == .end(heldMs: 60_000, endedNs: 70 * Self.second))
        #expect(observe(&notice, at: .max / Self.second, until: 70) == nil)
    }
}
