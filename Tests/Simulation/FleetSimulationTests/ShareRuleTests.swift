import FanfareModel
import Testing

@testable import FleetSimulation

/// The share rule: when refusals (5xx with Retry-After) hold a project, and how it recovers.
@Suite struct ShareRuleTests {
    /// A project that makes 20 claims a second, with answers chosen by the test.
    private struct Project {
        var governor = QuotaGovernor(quota: 600_000)
        var nowMs: Int64 = 1_000_000
        /// Permits lent in each claim.
        var lent: [Int] = []

        init() { governor.apply(AnswerReport(), nowMs: nowMs) }

        mutating func claim(_ answers: Int, refused: Int = 0, retryAfterMs: Int64 = 10_000, fanout: Int = 100_000) {
            nowMs += 50
            let waitMs = refused > 0 ? retryAfterMs : 0
            let report = AnswerReport(
                answers: answers,
                refused: refused,
                retryAfterMs: waitMs,
                spanMs: answers > 0 ? 49 : 0
            )
            governor.apply(report, nowMs: nowMs)
            lent.append(governor.lend(returned: 0, single: 0, fanout: fanout, nowMs: nowMs))
        }

        var level: Double { governor.level ?? 0 }
        var holdMs: Int64 { governor.holdMs(nowMs: nowMs) }

        mutating func warmUp() {
            for _ in 0..<1_300 { claim(10) }
        }
    }

    @Test func strayRefusalDoesNotHoldTheProject() {
        var project = Project()
        project.warmUp()
        let level = project.level
        #expect(level == project.governor.full)
        project.claim(400, refused: 1)
        #expect(project.holdMs == 0 && project.level == level)
        for _ in 0..<1_000 { project.claim(450, refused: 20) }
        #expect(project.holdMs == 0 && !project.governor.isRecovering && project.level == level)
        // The pace is multiplied by one minus the share of refusals.
        let second = project.lent.suffix(20).reduce(0, +)
        #expect((Int(level * 0.94)...Int(level * 0.96)).contains(second))
    }

    @Test func tenPercentOfTheLast200AnswersHoldsTheProject() {
        var project = Project()
        for _ in 0..<20 { project.claim(10) }
        project.nowMs += 2_000
        project.claim(10, refused: 10)
        #expect(project.holdMs == 0, "10 of 200")
        project.claim(10, refused: 9)
        #expect(project.holdMs == 0, "19 of 200")
        project.claim(10, refused: 1, retryAfterMs: 20_000)
        #expect(project.holdMs == 20_000, "20 of 200, for the longest Retry-After")
        #expect(project.lent.last == 0)
    }

    @Test func fewerThanFiveRefusalsDoNotHoldTheProject() {
        var project = Project()
        for _ in 0..<4 { project.claim(1, refused: 1) }
        #expect(project.holdMs == 0)
        project.claim(1, refused: 1)
        #expect(project.holdMs > 9_000)
    }

    @Test func allAnswersOfTheLastSecondCount() {
        var project = Project()
        project.warmUp()
        for _ in 0..<20 { project.claim(100) }
        project.claim(150, refused: 150)
        #expect(project.holdMs == 0, "150 of 2,150 answers in the last second, though 150 of the last 200")
        project.claim(100, refused: 100)
        #expect(project.holdMs > 0)
    }

    @Test func refusalsOlderThanAMinuteDoNotCount() {
        var project = Project()
        for _ in 0..<10 { project.claim(10) }
        for _ in 0..<4 { project.claim(1, refused: 1, retryAfterMs: 100) }
        project.nowMs += 61_000
        project.claim(1, refused: 1)
        #expect(project.holdMs == 0)
    }

    @Test func recoverySendsTenASecondUntilTwentyGoodAnswers() {
        var project = Project()
        project.warmUp()
        let before = project.level
        project.claim(300, refused: 300, retryAfterMs: 5_000)
        for _ in 0..<99 {
            project.claim(0)
            #expect(project.lent.last == 0)
        }
        // The hold has ended, and FCM does not answer.
        project.lent = []
        for _ in 0..<200 { project.claim(0) }
        #expect((95...105).contains(project.lent.reduce(0, +)), "ten a second for ten seconds")
        for _ in 0..<19 { project.claim(1) }
        #expect(project.governor.isRecovering)
        project.claim(1)
        #expect(!project.governor.isRecovering)
        #expect(project.level < before / 2 + 10 && project.level > 0.4 * before, "half of \(before): \(project.level)")
    }

    @Test func consecutiveHoldsHalveThePaceOnce() {
        var project = Project()
        project.warmUp()
        let before = project.level
        for round in 0..<5 {
            project.claim(300, refused: 300, retryAfterMs: 1_000)
            for _ in 0..<21 { project.claim(0) }
            // Two refusals of twenty answers are a tenth.
            for answer in 0..<20 where round > 0 {
                project.claim(1, refused: answer > 17 ? 1 : 0, retryAfterMs: 1_000)
            }
            if round > 0 { #expect(project.holdMs > 900) }
            for _ in 0..<21 where round > 0 { project.claim(0) }
        }
        #expect(project.governor.isRecovering)
        for _ in 0..<20 { project.claim(1) }
        #expect(!project.governor.isRecovering && project.level > 0.4 * before && project.level < before / 2 + 10)
    }

    @Test func answersFromBeforeTheHoldsEndDoNotEndTheRecovery() {
        var project = Project()
        project.warmUp()
        project.claim(300, refused: 300, retryAfterMs: 1_000)
        for _ in 0..<20 { project.claim(0) }
        project.nowMs += 20
        // One report combines these answers with those from before the end of the hold.
        project.governor.apply(AnswerReport(answers: 500, spanMs: 40), nowMs: project.nowMs)
        #expect(project.governor.isRecovering)
    }

    @Test func paceDoesNotClimbWithoutAnswers() {
        var project = Project()
        project.warmUp()
        let before = project.level
        // FCM is unreachable for 75 s, and every permit is used.
        for _ in 0..<1_500 { project.claim(0) }
        #expect(project.level == project.governor.floor)
        project.claim(1)
        #expect((project.lent.last ?? 0) < 60, "no burst after the outage")
        for _ in 0..<200 { project.claim(5) }
        #expect(project.level > project.governor.floor && project.level < before / 2)
    }

    @Test func workerWithoutAnswerCountsEndsTheRecoveryAtTheFloor() {
        var project = Project()
        project.warmUp()
        project.governor.hold(milliseconds: 1_000, nowMs: project.nowMs)
        project.nowMs += 1_001
        project.governor.apply(nil, nowMs: project.nowMs)
        _ = project.governor.lend(returned: 0, single: 0, fanout: 100, nowMs: project.nowMs)
        #expect(!project.governor.isRecovering && project.level < project.governor.floor + 10)
    }

    @Test func multicastRequestIsLentWholeAndSinglesContinue() {
        var governor = QuotaGovernor(quota: 600_000)
        var nowMs: Int64 = 1_000_000
        var requests: [Int64] = []
        var singles = 0
        while requests.count < 3 {
            governor.apply(AnswerReport(answers: 1), nowMs: nowMs)
            let lent = governor.lend(returned: 0, single: 1, fanout: 2_500, unit: 1_000, nowMs: nowMs)
            #expect([1, 1_001].contains(lent))
            if lent > 1 { requests.append(nowMs) }
            singles += 1
            nowMs += 50
        }
        #expect(requests.first == 1_000_000, "the first request is lent at once, from idle")
        #expect(requests[2] - requests[0] > 3_000, "later requests are paced")
    }

    @Test(arguments: [600, 6_000, 60_000, 600_000], UInt64(1)...3) func anyMinuteStaysWithinTheQuota(
        _ quota: Int,
        seed: UInt64
    ) {
        var demand = RandomDemand(quota: quota, seed: seed)
        var governor = QuotaGovernor(quota: quota)
        var nowMs: Int64 = 1_000_000_000
        while nowMs < 1_000_300_000 {
            nowMs += demand.nextStepMs()
            let request = demand.next()
            governor.apply(request.report, nowMs: nowMs)
            let lent = governor.lend(
                returned: request.returned,
                single: request.single,
                fanout: request.fanout,
                unit: request.unit,
                nowMs: nowMs
            )
            demand.lent(lent, nowMs: nowMs)
        }
        demand.judge()
    }
}
