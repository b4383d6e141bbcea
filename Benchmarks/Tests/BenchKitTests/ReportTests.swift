import Foundation
import Testing

@testable import BenchKit

struct ReportTests {
    @Test func theTableHasSidesRatiosAndNotes() {
        let report = report(
            [("worker", [2, 3]), ("floor", [1, 2])],
            compare: [(.cpu, "worker", "floor")],
            notes: ["something was left out"]
        )
        let lines = report.table().split(separator: "\n").map(String.init)
        #expect(lines[0] == "test: sends 100000")
        #expect(lines.contains { $0.hasPrefix("worker  ") && $0.contains("25.00 (20.00–30.00)") })
        #expect(lines.contains { $0.hasPrefix("worker/floor cpu_us_per_send") && $0.contains("1.75 (1.50–2.00)") })
        #expect(lines.last == "note: something was left out")
    }

    @Test func columnsThatNobodyFillsAreLeftOut() {
        let table = report([("worker", [2])]).table()
        #expect(table.contains(Measure.rate.heading))
        #expect(!table.contains(Measure.redis.heading))
    }

    @Test func theJSONHasBothSidesOfARatioAndTheSamples() throws {
        let report = report([("worker", [2, 3]), ("floor", [1, 2])], compare: [(.cpu, "worker", "floor")])
        var record = Record(form: .short, machine: Machine(tools: []))
        record.scenarios = [report]
        let object = try #require(JSONSerialization.jsonObject(with: try record.json()) as? [String: Any])
        let machine = try #require(object["machine"] as? [String: Any])
        #expect(machine["cores"] as? Int != nil)
        let scenario = try #require((object["scenarios"] as? [[String: Any]])?.first)
        let ratio = try #require((scenario["ratios"] as? [[String: Any]])?.first)
        #expect(ratio["numerator_median"] as? Double == 25)
        #expect(ratio["denominator_median"] as? Double == 15)
        #expect((ratio["by_round"] as? [String: Any])?["samples"] as? [Double] == [2, 1.5])
        let sides = try #require(scenario["sides"] as? [[String: Any]])
        #expect(sides.map { $0["name"] as? String } == ["worker", "floor"])
        let measures = try #require(sides[0]["measures"] as? [String: [String: Any]])
        #expect(measures["cpu_us_per_send"]?["median"] as? Double == 25)
        #expect(measures["cpu_us_per_send"]?["count"] as? Int == 2)
        #expect((sides[0]["runs"] as? [Any])?.count == 2)
    }

    @Test func verdictsAreOneTableOfAllScenarios() {
        var record = Record(form: .short, machine: Machine(tools: []))
        #expect(record.verdicts().isEmpty)
        let one = report([("a", [1])]).with(goals: [Goal("x", .atMost(1), figure: 2)])
        let two = report([("a", [1])]).with(goals: [Goal("y", .atLeast(1), figure: 2)])
        record.scenarios = [one, two]
        let lines = record.verdicts().split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].hasSuffix("missed") && lines[2].hasSuffix("met"))
    }

    @Test func tablesLineUp() {
        #expect(TextTable.lines([["a", "1"], ["long", "22"]]) == ["a      1", "long  22"])
        #expect(TextTable.lines([["a", "b", ""], ["c", "long", "9"]], left: [0, 1]) == ["a  b", "c  long  9"])
    }
}
