import FanfareCore
import Testing

/// What follows a push that failed.
@Suite struct PushDoubtTests {
    private func ms(_ ms: UInt64) -> UInt64 { ms * 1_000_000 }

    @Test func pushThatRedisSurelyDidNotRunIsRefused() {
        var doubt = PushDoubt(untilNs: ms(4_000))
        #expect(doubt.failed(mayBeApplied: false, nowNs: 0) == .refused)
    }

    @Test func pushInDoubtIsRepeatedUntilItsDeadline() {
        var doubt = PushDoubt(untilNs: ms(4_000))
        #expect(doubt.failed(mayBeApplied: true, nowNs: ms(100)) == .again(afterMs: 200))
        #expect(doubt.failed(mayBeApplied: false, nowNs: ms(3_999)) == .again(afterMs: 200))
        #expect(doubt.failed(mayBeApplied: true, nowNs: ms(4_000)) == .unknown)
    }

    /// A command's timeout of 5 s outlasts a wait of 4 s: the push was never repeated.
    @Test func doubtAfterTheDeadlineIsRepeatedToo() {
        var doubt = PushDoubt(untilNs: ms(4_000))
        #expect(doubt.failed(mayBeApplied: true, nowNs: ms(5_000)) == .again(afterMs: 200))
        #expect(doubt.failed(mayBeApplied: true, nowNs: ms(7_999)) == .again(afterMs: 200))
        #expect(doubt.failed(mayBeApplied: true, nowNs: ms(8_000)) == .unknown)
    }
}
