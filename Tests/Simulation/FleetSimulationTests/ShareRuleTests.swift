import FanfareModel
import Testing

@testable import FleetSimulation

/// When refusals (5xx with Retry-After) hold a project, and how it comes back.
@Suite struct ShareRuleTests {
    /// A project that sends at a pace of its choice, 20 claims a second.
    private struct Project {
        var governor = QuotaGovernor(quota: 600_000)
        var nowMs: Int64 = 1_000_000
        /// Permits lent in each claim.
        var lent: [Int] = []

        init() { governor.apply(AnswerReport(), nowMs: nowMs) }

        mutating func claim(_ answers: Int, refused: Int = 0, retryAfterMs: Int64 = 10_000, fanout: Int = 100_000) {
            nowMs += 50
            let told = refused > 0 ? retryAfterMs : 0
            let report = AnswerReport(
                answers: answers,
                refused: refused,
                retryAfterMs: told,
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

    @Test func aStrayRefusalHoldsNobody() {
        var project = Project()
        project.warmUp()
        let level = project.level
        #expect(level == project.governor.full)
        project.claim(400, refused: 1)
        #expect(project.holdMs == 0 && project.level == level)
        for _ in 0..<1_000 { project.claim(450, refused: 20) }
        #expect(project.holdMs == 0 && !project.governor.isRecovering && project.level == level)
        // Multiplied by one minus the share.
        let second = project.lent.suffix(20).reduce(0, +)
        #expect((Int(level * 0.94)...Int(level * 0.96)).contains(second))
    }

    @Test func aTenthOfTheLastTwoHundredHolds() {
        var project = Project()
        for _ in 0..<20 { project.claim(10) }
        project.nowMs += 2_000
        project.claim(10, refused: 10)
        #expect(project.holdMs == 0, "10 of 200")
        project.claim(10, refused: 9)
        #expect(project.holdMs == 0, "19 of 200")
        project.claim(10, refused: 1, retryAfterMs: 20_000)
        #expect(project.holdMs == 20_000, "20 of 200, for the longest that they were told")
        #expect(project.lent.last == 0)
    }

    @Test func fewerThanFiveAreNoEvidence() {
        var project = Project()
        for _ in 0..<4 { project.claim(1, refused: 1) }
        #expect(project.holdMs == 0)
        project.claim(1, refused: 1)
        #expect(project.holdMs > 9_000)
    }

    @Test func ofAThousandInASecondTheSecondCounts() {
        var project = Project()
        project.warmUp()
        for _ in 0..<20 { project.claim(100) }
        project.claim(150, refused: 150)
        #expect(project.holdMs == 0, "150 of 2,150 within the last second, though of the last 200")
        project.claim(100, refused: 100)
        #expect(project.holdMs > 0)
    }

    @Test func whatIsOlderThanAMinuteCountsNoMore() {
        var project = Project()
        for _ in 0..<10 { project.claim(10) }
        for _ in 0..<4 { project.claim(1, refused: 1, retryAfterMs: 100) }
        project.nowMs += 61_000
        project.claim(1, refused: 1)
        #expect(project.holdMs == 0)
    }

    @Test func afterAHoldTenASecondUntilTwentyAnswersAreGood() {
        var project = Project()
        project.warmUp()
        let before = project.level
        project.claim(300, refused: 300, retryAfterMs: 5_000)
        for _ in 0..<99 {
            project.claim(0)
            #expect(project.lent.last == 0)
        }
        // The hold is over; nobody answers.
        project.lent = []
        for _ in 0..<200 { project.claim(0) }
        #expect((95...105).contains(project.lent.reduce(0, +)), "ten a second for ten seconds")
        for _ in 0..<19 { project.claim(1) }
        #expect(project.governor.isRecovering)
        project.claim(1)
        #expect(!project.governor.isRecovering)
        #expect(project.level < before / 2 + 10 && project.level > 0.4 * before, "half of \(before): \(project.level)")
    }

    @Test func consecutiveHoldsHalveOnce() {
        var project = Project()
        project.warmUp()
        let before = project.level
        for round in 0..<5 {
            project.claim(300, refused: 300, retryAfterMs: 1_000)
            for _ in 0..<21 { project.claim(0) }
            // Two of twenty are a tenth.
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

    @Test func answersOfBeforeAHoldsEndSayNothingOfAfterIt() {
        var project = Project()
        project.warmUp()
        project.claim(300, refused: 300, retryAfterMs: 1_000)
        for _ in 0..<20 { project.claim(0) }
        project.nowMs += 20
        // Reported in one piece with what came during the hold.
        project.governor.apply(AnswerReport(answers: 500, spanMs: 40), nowMs: project.nowMs)
        #expect(project.governor.isRecovering)
    }

    @Test func withoutAnAnswerNothingClimbs() {
        var project = Project()
        project.warmUp()
        let before = project.level
        // FCM cannot be reached for 75 s, and every permit is used.
        for _ in 0..<1_500 { project.claim(0) }
        #expect(project.level == project.governor.floor)
        project.claim(1)
        #expect((project.lent.last ?? 0) < 60, "no burst when it is back")
        for _ in 0..<200 { project.claim(5) }
        #expect(project.level > project.governor.floor && project.level < before / 2)
    }

    @Test func aWorkerThatCountsNoAnswersEndsARecoveryAtTheFloor() {
        var project = Project()
        project.warmUp()
        project.governor.hold(milliseconds: 1_000, nowMs: project.nowMs)
        project.nowMs += 1_001
        project.governor.apply(nil, nowMs: project.nowMs)
        _ = project.governor.lend(returned: 0, single: 0, fanout: 100, nowMs: project.nowMs)
        #expect(!project.governor.isRecovering && project.level < project.governor.floor + 10)
    }

    @Test func aRequestOfManyIsLentWholeAndSinglesGoOn() {
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
        #expect(requests.first == 1_000_000, "the first at once, from idle")
        #expect(requests[2] - requests[0] > 3_000, "paced as any")
    }

    @Test(arguments: [600, 6_000, 60_000, 600_000], UInt64(1)...3) func noMinuteSeesMoreThanTheQuotaWhateverIsAsked(
        _ quota: Int,
        seed: UInt64
    ) {
        var demand = RandomDemand(quota: quota, seed: seed)
        var governor = QuotaGovernor(quota: quota)
        var nowMs: Int64 = 1_000_000_000
        while nowMs < 1_000_300_000 {
            nowMs += demand.nextStepMs()
            let ask = demand.next()
            governor.apply(ask.report, nowMs: nowMs)
            let lent = governor.lend(
                returned: ask.returned,
                single: ask.single,
                fanout: ask.fanout,
                unit: ask.unit,
                nowMs: nowMs
            )
            demand.lent(lent, nowMs: nowMs)
        }
        demand.judge()
    }
}
