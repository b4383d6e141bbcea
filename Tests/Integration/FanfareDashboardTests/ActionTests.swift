import FanfareClient
import FanfareRedis
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// Queries and actions over HTTP.
@Suite struct ActionTests {
    @Test func jobActionsPauseResumeAndCancel() async throws {
        try await withDashboard { bench in
            let path = "/api/projects/demo/jobs/j"
            #expect(try await bench.web.post("\(path)/pause").status == 404)
            try await bench.intake("j", many(3))
            let paused = try await bench.web.post("\(path)/pause")
            #expect(paused.status == 200 && paused.json["state"] as? String == "paused")
            #expect(try await bench.state("j") == "paused")
            let list = try await bench.web.get("/api/projects/demo/jobs?state=paused").json
            #expect((list["jobs"] as? [[String: Any]])?.first?["id"] as? String == "j")
            #expect(try await bench.web.post("\(path)/resume").json["state"] as? String == "waiting")
            #expect(try await bench.web.post("\(path)/cancel").status == 200)
            #expect(try await bench.web.post("\(path)/pause").status == 409)
            #expect(try await bench.web.post("\(path)/explode").status == 404)
            #expect(try await bench.web.post("/api/projects/demo/resume").json["outcome"] as? String == "resumed")
        }
    }

    /// A misspelt id must not leave a pause in Redis.
    @Test func unknownProjectIsNotPaused() async throws {
        try await withDashboard({ $0.projects = ["configured"] }) { bench in
            let before = try await bench.client.send(RedisCommand("DBSIZE")).integer
            for action in ["pause", "resume"] {
                let answer = try await bench.web.post("/api/projects/demmo/\(action)")
                #expect(answer.status == 404 && answer.json["error"] as? String == "no_such_project")
            }
            let after = try await bench.client.send(RedisCommand("DBSIZE")).integer
            #expect(before == after)
            #expect(try await bench.web.post("/api/projects/configured/pause").status == 200)
            // Pushed to, though no worker has seen it.
            _ = try await bench.client.send(RedisCommand("XADD", ProjectKeys(project: "pushed").jobs, "*", "x", "1"))
            #expect(try await bench.web.post("/api/projects/pushed/pause").status == 200)
        }
    }

    @Test func largeBodyIsRefused() async throws {
        try await withDashboard { bench in
            let body = #"{"reason":"\#(String(repeating: "a", count: 9_000))"}"#
            let answer = try await bench.web.post("/api/projects/demo/pause", body)
            #expect(answer.status == 413 && answer.json["error"] as? String == "too_large")
            let overview = try await bench.projectOperator.overview()
            #expect(!overview.isPaused)
        }
    }

    @Test func searchFindsAJobInEveryProject() async throws {
        try await withDashboard { bench in
            try await bench.intake("news.7:a_b-c", many(3))
            let found = try await bench.web.get("/api/jobs?id=news.7%3Aa_b-c").json["jobs"] as? [[String: Any]]
            #expect(found?.count == 1 && found?.first?["project"] as? String == "demo")
            #expect((try await bench.web.get("/api/jobs?id=other").json["jobs"] as? [Any])?.isEmpty == true)
            let one = try await bench.web.get("/api/projects/demo/jobs/news.7%3aa_b-c")
            #expect(one.status == 200 && one.json["class"] as? String == "single")
            #expect(try await bench.web.get("/api/projects/demo/jobs/gone").status == 404)
        }
    }

    @Test(arguments: [
        "/api/jobs?id=", "/api/jobs?id=a%20b", "/api/jobs?id=a%2Fb", "/api/projects/De-mo/jobs",
        "/api/projects/%7B%7D/jobs", "/api/projects/demo/jobs/a%00b", "/api/projects/demo/jobs/%zz",
        "/api/projects/demo/jobs/j/results?after=x", "/api/projects/demo/dead?before=1",
    ])
    func invalidIdIsRefused(path: String) async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(1))
            #expect(try await bench.web.get(path).status == 400)
        }
    }

    @Test func resultsArePaged() async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(250))
            try await bench.intake("other", many(30))
            let claims = try await bench.claim()
            let claim = try #require(claims.first { $0.job == "j" })
            let other = try #require(claims.first { $0.job == "other" })
            try await bench.record(claim, 0..<130, call: 1)
            try await bench.record(other, 0..<30, call: 1)
            try await bench.record(claim, 130..<250, call: 2)
            var seen: [Int] = []
            var next: String? = ""
            var pages = 0
            while let cursor = next {
                let query = cursor.isEmpty ? "" : "?after=\(cursor)"
                let page = try await bench.web.get("/api/projects/demo/jobs/j/results\(query)").json
                let results = page["results"] as? [[String: Any]] ?? []
                #expect(results.count <= 100)
                seen += results.compactMap { $0["i"] as? Int }
                next = page["next"] as? String
                pages += 1
            }
            #expect(seen == Array(0..<250) && pages == 3)
            let failed = try await bench.web.get("/api/projects/demo/jobs/j/results?failed=1").json
            #expect((failed["results"] as? [Any])?.count == 25 && failed["next"] == nil)
        }
    }

    @Test func unreadableResultsEntryIsSkippedAndNamed() async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(3))
            let claim = try #require(try await bench.claim().first)
            let command = RedisCommand("XADD", bench.keys.results, "*", "job", "j", "results", "garbage")
            let entry = try #require(try await bench.client.send(command).string)
            try await bench.record(claim, 0..<3, call: 1)
            let page = try await bench.web.get("/api/projects/demo/jobs/j/results")
            #expect(page.status == 200 && (page.json["results"] as? [Any])?.count == 3)
            #expect(page.json["unreadable"] as? [String] == [entry])
        }
    }

    @Test func deadActionsReplayAndDrop() async throws {
        try await withDashboard { bench in
            try await bench.reject("r", reason: "token: <script>alert(1)</script>")
            let list = try await bench.web.get("/api/projects/demo/dead")
            let entry = try #require((list.json["entries"] as? [[String: Any]])?.first)
            #expect(entry["reason"] as? String == "token: <script>alert(1)</script>")
            #expect(list.headers["content-type"] == "application/json; charset=utf-8")
            // Pushed fields may be private: the reply has their sizes, not their values.
            #expect((entry["fields"] as? [[String: Any]])?.first?["bytes"] as? Int == 3 && !list.body.contains("a b"))
            let path = "/api/projects/demo/dead/\(entry["entry"] as? String ?? "")"
            #expect(try await bench.web.post("\(path)/replay").json["outcome"] as? String == "pushed")
            #expect(try await bench.web.post("\(path)/replay").status == 404)
            try await bench.reject("s", reason: "token: bad")
            let second = try #require(try await bench.projectOperator.deadEntries().first?.id)
            #expect(try await bench.web.post("/api/projects/demo/dead/\(second)/drop").status == 200)
            #expect(try await bench.projectOperator.deadEntries().isEmpty)
            #expect(try await bench.web.post("/api/projects/demo/dead/nowhere/drop").status == 400)
        }
    }

    @Test func deadEntriesArePaged() async throws {
        try await withDashboard { bench in
            for index in 0..<60 { try await bench.reject("r\(index)", reason: "token: bad") }
            let first = try await bench.web.get("/api/projects/demo/dead").json
            let before = try #require(first["before"] as? String)
            let second = try await bench.web.get("/api/projects/demo/dead?before=\(before)").json
            let names = [first, second].flatMap { page in
                (page["entries"] as? [[String: Any]] ?? []).compactMap { $0["job"] as? String }
            }
            #expect(names == (0..<60).reversed().map { "r\($0)" } && second["before"] == nil)
        }
    }
}
