import FanfareClient
import FanfareModel
import FanfareRedis
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// The jobs of all projects over HTTP: lists, bounds, and changes of several jobs at once.
@Suite struct FleetJobsTests {
    /// Writes a job as workers leave it.
    private func add(_ bench: DashboardBench, _ project: String, _ id: String, _ state: String, _ more: String...)
        async throws
    {
        let keys = ProjectKeys(project: project)
        _ = try await bench.client.send(RedisCommand("SADD", ProjectKeys.projects(), project))
        var job = RedisCommand("HSET", keys.job(id), "state", state, "total", "10")
        for word in more { job.append(word) }
        _ = try await bench.client.send(job)
        let isOver = ["done", "cancelled", "expired", "rejected"].contains(state)
        let list = isOver ? ["ZADD", keys.base + "finished", "5", id] : ["SADD", keys.base + "jobs_open", id]
        let parked = ["SADD", keys.base + "jobs_parked", id]
        let words = state == "parked" ? parked : list
        var command = RedisCommand(words[0])
        for word in words.dropFirst() { command.append(word) }
        _ = try await bench.client.send(command)
    }

    private func ids(_ bench: DashboardBench, _ query: String) async throws -> [String] {
        let reply = try await bench.web.get("/api/jobs?\(query)")
        #expect(reply.status == 200, "\(query): \(reply.body)")
        return (reply.json["jobs"] as? [[String: Any]] ?? []).map { "\($0["project"] ?? "")/\($0["id"] ?? "")" }
    }

    @Test(
        arguments: [
            ("", ["a/Sale-1", "a/stopped", "b/canary", "b/mine", "b/parked", "b/soon"]),
            ("tab=running", ["a/Sale-1"]), ("tab=needing", ["a/stopped", "b/canary", "b/parked"]),
            ("tab=paused", ["a/stopped", "b/canary", "b/mine"]), ("tab=scheduled", ["b/soon"]),
            ("tab=over", ["a/sale-0"]), ("tab=all&find=SALE", ["a/Sale-1", "a/sale-0"]),
            ("project=b&state=parked", ["b/parked"]), ("tab=running&state=paused", []),
            ("find=nothing", []),
        ] as [(String, [String])]
    )
    func tabHoldsTheJobsOfAllProjectsThatFit(query: String, expected: [String]) async throws {
        try await withDashboard { bench in
            try await add(bench, "a", "Sale-1", "active")
            try await add(bench, "a", "sale-0", "done")
            try await add(bench, "a", "stopped", "paused", "reason", "stop_if: failed 34.1% of 1000, more than 5%")
            try await add(bench, "b", "canary", "paused", "reason", "canary")
            try await add(bench, "b", "mine", "paused", "reason", "paused by an operator: lunch")
            try await add(bench, "b", "parked", "parked")
            try await add(bench, "b", "soon", "scheduled", "not_before", "4000000000000")
            #expect(try await ids(bench, query).sorted() == expected.sorted())
        }
    }

    @Test func canaryThatWaitsForItsTimeNeedsNoOperator() async throws {
        try await withDashboard { bench in
            try await add(bench, "a", "waits", "paused", "reason", "canary", "canary", "10", "canary_wait_ms", "60000")
            try await add(bench, "a", "held", "paused", "reason", "canary", "canary", "10")
            #expect(try await ids(bench, "tab=needing") == ["a/held"])
        }
    }

    @Test func searchFindsPushedJobsByAPartOfTheirId() async throws {
        try await withDashboard { bench in
            try await add(bench, "a", "Sale-1", "active")
            for (project, id) in [("a", "sale-2"), ("b", "my-SALE"), ("b", "other")] {
                let keys = ProjectKeys(project: project)
                _ = try await bench.client.send(RedisCommand("SADD", ProjectKeys.projects(), project))
                _ = try await bench.client.send(RedisCommand("XADD", keys.jobs, "*", "id", id))
            }
            let reply = try await bench.web.get("/api/jobs?find=sale").json
            let pushed = (reply["pushed"] as? [[String: Any]] ?? []).map { "\($0["project"] ?? "")/\($0["id"] ?? "")" }
            #expect(pushed == ["a/sale-2", "b/my-SALE"])
            #expect(try await ids(bench, "find=sale") == ["a/Sale-1"])
            #expect(try await bench.web.get("/api/jobs").json["pushed"] == nil)
        }
    }

    @Test(arguments: ["tab=odd", "project=A%20b", "after=A%20b", "find=" + String(repeating: "x", count: 129)])
    func invalidQueryIsRefused(query: String) async throws {
        try await withDashboard { bench in
            let status = try await bench.web.get("/api/jobs?\(query)").status
            #expect(status == 400)
        }
    }

    @Test func listSaysWhereItIsNotWhole() async throws {
        try await withDashboard { bench in
            for index in 0..<12 { try await add(bench, "p\(index + 10)", "j", "active") }
            for index in 0..<3 { try await add(bench, "p10", "more\(index)", "paused") }
            let jobs = FleetJobs(redis: bench.client, perProject: 2, readsPerProject: 1_000)
            let projects = (0..<12).map { "p\($0 + 10)" }
            let first = try await jobs.page(JobFilter(), projects: projects, limit: 5)
            #expect(first.cut == ["p10"] && first.next == "p17" && first.rows.count == 9)
            let second = try await jobs.page(JobFilter(), projects: projects, after: first.next, limit: 5)
            #expect(second.rows.map(\.project) == ["p18", "p19", "p20", "p21"] && second.next == nil)
            // A search that reads too much ends, and says so.
            let scarce = FleetJobs(redis: bench.client, perProject: 100, readsPerProject: 2)
            let found = try await scarce.page(JobFilter(states: [.scheduled]), projects: ["p10"])
            #expect(found.rows.isEmpty && found.cut == ["p10"])
            let cheap = try await scarce.page(JobFilter(text: "more1"), projects: ["p10"])
            #expect(cheap.rows.map(\.progress.status.id) == ["more1"] && cheap.cut.isEmpty)
        }
    }

    @Test func severalJobsAreChangedAndFailuresAreNamed() async throws {
        try await withDashboard { bench in
            for id in ["a", "b"] { try await bench.intake(id, many(3)) }
            let body = """
                {"reason":"ticket 7","jobs":[{"project":"demo","id":"a"},{"project":"demo","id":"gone"},\
                {"project":"demo","id":"b"}]}
                """
            let reply = try await bench.web.post("/api/jobs/pause", body)
            #expect(reply.status == 200 && reply.json["done"] as? Int == 2)
            let failed = try #require((reply.json["failed"] as? [[String: Any]])?.first)
            #expect(
                failed["id"] as? String == "gone" && (failed["message"] as? String)?.contains("no such job") == true
            )
            #expect(try await bench.state("a") == "paused")
            #expect(try await bench.state("b") == "paused")
            #expect(try await bench.projectOperator.audit(limit: 9).map(\.reason) == ["ticket 7", "ticket 7"])
            #expect(try await bench.web.post("/api/jobs/explode", body).status == 404)
        }
    }

    private static let one = #"{"project":"demo","id":"a"}"#
    private static let bodies = [
        "{}", #"{"jobs":[]}"#, #"{"jobs":[{"project":"demo"}]}"#, #"{"jobs":[{"project":"De mo","id":"a"}]}"#,
        #"{"jobs":[\#(Array(repeating: one, count: 501).joined(separator: ","))]}"#,
    ]

    @Test(arguments: bodies)
    func invalidChangeOfSeveralJobsIsRefused(body: String) async throws {
        try await withDashboard { bench in
            try await bench.intake("a", many(3))
            #expect(try await bench.web.post("/api/jobs/pause", body).status == 400)
            #expect(try await bench.state("a") == "waiting")
        }
    }

    @Test func readOnlyDashboardChangesNoJobs() async throws {
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            try await bench.intake("a", many(3))
            let reply = try await bench.web.post("/api/jobs/pause", #"{"jobs":[{"project":"demo","id":"a"}]}"#)
            #expect(reply.status == 403)
            #expect(try await bench.state("a") == "waiting")
        }
    }
}
