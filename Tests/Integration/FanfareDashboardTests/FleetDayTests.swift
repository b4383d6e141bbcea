import FanfareClient
import Testing

@testable import FanfareDashboard

/// The history of all projects together.
@Suite struct FleetDayTests {
    private func history(_ sent: [Int64], marks: [HistoryMark] = []) -> ProjectHistory {
        let samples = sent.enumerated().map { index, count in
            var sample = HistorySample(atMs: Int64(index) * 300_000)
            sample.sent = count
            return sample
        }
        return ProjectHistory(samples: samples, marks: marks, stepMs: 300_000, nowMs: 900_000)
    }

    @Test func countsOfProjectsAddUpByStep() {
        var day = FleetDay()
        day.add(history([1, 2, 3]), of: "a")
        day.add(history([10, .max]), of: "b")
        let sum = day.history
        #expect(sum.samples.map(\.sent) == [11, .max, 3] && sum.samples.map(\.atMs) == [0, 300_000, 600_000])
        #expect(sum.stepMs == 300_000 && sum.nowMs == 900_000)
    }

    @Test func equalMarksOfManyProjectsAreOne() {
        var day = FleetDay()
        for project in ["a", "b", "c"] {
            day.add(history([], marks: [HistoryMark(atMs: 1_000, kind: .version, text: "0.2")]), of: project)
        }
        day.add(history([], marks: [HistoryMark(atMs: 2_000, kind: .pause, text: "lunch")]), of: "a")
        day.add(history([], marks: [HistoryMark(atMs: 90_000, kind: .version, text: "0.2")]), of: "a")
        for (project, batches) in [("a", 6), ("b", 1)] {
            let text = "w1, \(batches) batches"
            day.add(history([], marks: [HistoryMark(atMs: 200_000, kind: .lost, text: text)]), of: project)
        }
        #expect(day.history.marks.map(\.text) == ["3 projects: 0.2", "a: lunch", "a: 0.2", "2 projects: w1"])
    }

    @Test func historyOfTheFleetIsServed() async throws {
        try await withDashboard { bench in
            let reply = try await bench.web.get("/api/history")
            let steps = (reply.json["at_ms"] as? [Any])?.count
            #expect(reply.status == 200 && steps == (reply.json["sent"] as? [Any])?.count)
            #expect(reply.json["projects"] as? Int == 1 && reply.json["whole"] as? Bool == true)
        }
    }

    @Test func dashboardWithoutAnExaminerHasNoRedisPage() async throws {
        try await withDashboard { bench in
            let status = try await bench.web.get("/api/redis").status
            #expect(status == 404)
        }
    }
}
