import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AnswerTallyTests {
    private static let ms: UInt64 = 1_000_000

    @Test func reportHoldsCountsAndTheLongestRetryAfter() {
        var tally = AnswerTally()
        #expect(tally.report(now: 0) == AnswerReport())
        tally.add(refusedForMs: nil, now: 100 * Self.ms)
        tally.add(refusedForMs: 10_000, now: 110 * Self.ms)
        tally.add(refusedForMs: 2_000, now: 120 * Self.ms)
        let expected = AnswerReport(answers: 3, refused: 2, retryAfterMs: 9_960, spanMs: 50)
        #expect(tally.report(now: 150 * Self.ms) == expected)
    }

    @Test func aReportWhoseReplyIsLostIsMadeAgain() {
        var tally = AnswerTally()
        tally.add(refusedForMs: nil, now: 0)
        #expect(tally.report(now: 0).answers == 1)
        tally.add(refusedForMs: 1_000, now: 10 * Self.ms)
        #expect(tally.report(now: 20 * Self.ms) == AnswerReport(answers: 2, refused: 1, retryAfterMs: 990, spanMs: 20))
    }

    @Test func answersAfterAReportRemainWhenItIsConfirmed() {
        var tally = AnswerTally()
        tally.add(refusedForMs: 60_000, now: 0)
        _ = tally.report(now: 10 * Self.ms)
        tally.add(refusedForMs: nil, now: 30 * Self.ms)
        tally.add(refusedForMs: nil, now: 40 * Self.ms)
        tally.confirm()
        #expect(tally.report(now: 50 * Self.ms) == AnswerReport(answers: 2, refused: 0, retryAfterMs: 0, spanMs: 20))
        tally.confirm()
        #expect(tally.report(now: 60 * Self.ms) == AnswerReport())
    }

    @Test func failingAnswersAreReportedOnce() {
        var tally = AnswerTally()
        tally.add(refusedForMs: nil, isFailing: true, now: 0)
        tally.add(refusedForMs: nil, now: 0)
        let first = tally.report(now: 0)
        #expect(first.answers == 2 && first.failing == 1)
        tally.add(refusedForMs: nil, isFailing: true, now: 0)
        tally.confirm()
        let second = tally.report(now: 0)
        #expect(second.answers == 1 && second.failing == 1)
    }

    @Test func retryAfterEndsAtItsTime() {
        var tally = AnswerTally()
        tally.add(refusedForMs: 1_000, now: 0)
        #expect(tally.report(now: 5_000 * Self.ms).retryAfterMs == 0)
        tally.add(refusedForMs: .max, now: .max - 1)
        tally.add(refusedForMs: .min, now: .max)
        #expect(tally.report(now: .max).refused == 3)
    }
}
