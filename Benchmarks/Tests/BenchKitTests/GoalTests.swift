import Foundation
import Testing

@testable import BenchKit

struct GoalTests {
    @Test(arguments: [(1.0, Goal.Verdict.met), (1.25, .met), (1.26, .missed)])
    func whatIsAtMost(figure: Double, verdict: Goal.Verdict) {
        #expect(Goal("m", .atMost(1.25), figure: figure).verdict == verdict)
    }

    @Test(arguments: [(97.9, Goal.Verdict.missed), (98, .met), (100, .met)])
    func whatIsAtLeast(figure: Double, verdict: Goal.Verdict) {
        #expect(Goal("m", .atLeast(98), figure: figure).verdict == verdict)
    }

    @Test func shortRunJudgesNothing() {
        var goal = Goal("m", .atMost(10), figure: 216)
        goal.isJudged = false
        #expect(goal.verdict == .unjudged && goal.row("s")[4] == "run too short")
    }

    @Test func noFigureIsNoVerdict() {
        let goal = Goal("m", .atLeast(98), unit: " %", decimals: 1, figure: nil)
        #expect(goal.verdict == .unmeasured)
        #expect(goal.row("quota") == ["quota", "m", "at least 98.0 %", "", "not measured"])
    }

    @Test func theRowHasGoalFigureAndVerdict() {
        let goal = Goal("p99", .atMost(10), unit: " ms", decimals: 1, figure: 12.34)
        #expect(goal.row("latency") == ["latency", "p99", "at most 10.0 ms", "12.3 ms", "missed"])
    }

    @Test func theJSONHasThemToo() throws {
        let goal = Goal("p99", .atMost(10), unit: " ms", decimals: 1, figure: 12.5)
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(goal)) as? [String: Any]
        #expect(object?["figure"] as? Double == 12.5)
        #expect(object?["verdict"] as? String == "missed")
        #expect(object?["unit"] as? String == "ms")
        #expect((object?["goal"] as? [String: Double]) == ["atMost": 10])
    }
}
