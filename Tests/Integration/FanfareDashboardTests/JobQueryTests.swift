import FanfareClient
import FanfareHTTP
import FanfareJSON
import FanfareRedis
import Foundation
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// The queries of the project page and the job page.
@Suite struct JobQueryTests {
    private static let job = "/api/projects/demo/jobs/j"

    private func finish(_ bench: DashboardBench, _ count: Int) async throws {
        try await bench.intake("j", many(count))
        let claim = try #require(try await bench.claim().first)
        try await bench.record(claim, 0..<count, call: 1)
    }

    @Test func historyHasOneValueAStepInEachColumn() async throws {
        try await withDashboard { bench in
            for span in [300, 3_600, 86_400] {
                let reply = try await bench.web.get("/api/projects/demo/history?span=\(span)")
                let count = (reply.json["at_ms"] as? [Any])?.count
                #expect(reply.status == 200 && count != nil)
                for column in [
                    "sent", "failed", "unknown", "retries", "maybe_dup", "waiting", "quota_per_minute", "p50_ms",
                    "p99_ms",
                ] {
                    #expect((reply.json[column] as? [Any])?.count == count)
                }
            }
        }
    }

    @Test(arguments: [
        "/history?span=301", "/history?span=x", "/history?span=-1", "/finished?before=x", "/finished?before=-1",
        "/finished?before=99999999999999999999", "/jobs/j/results?status=great", "/jobs/j/results?error=a%20b",
        "/jobs/j/results.csv?status=great", "/jobs/j/results.ndjson?error=%3Cscript%3E", "/dead?before=0-0",
    ])
    func invalidValueIsRefused(path: String) async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(1))
            #expect(try await bench.web.get("/api/projects/demo" + path).status == 400)
        }
    }

    @Test(arguments: ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "=\u{301}1"])
    func cellThatLooksLikeAFormulaIsText(text: String) {
        let cell = ResultTable.cell(text)
        #expect(cell.utf8.starts(with: "'".utf8) || cell.utf8.starts(with: "\"'".utf8))
        #expect(cell.utf8.count > text.utf8.count && ResultTable.cell("a-b=c") == "a-b=c")
    }

    @Test func jobHasItsDetails() async throws {
        try await withDashboard { bench in
            try await finish(bench, 20)
            let job = try await bench.web.get(Self.job).json
            #expect((job["target"] as? [String: Any])?["count"] as? Int == 20)
            #expect(job["priority"] as? Int == 5 && job["now_ms"] is Int)
            #expect(job["delivery"] as? String == "at_least_once" && job["results_policy"] as? String == "all")
        }
    }

    @Test func idOfALocalTimeHasItsJobsAndTheirSums() async throws {
        try await withDashboard { bench in
            for id in ["j.0800Z", "j.1900Z.east"] { try await bench.intake(id, many(2)) }
            let reply = try await bench.web.get(Self.job)
            #expect(reply.status == 200 && reply.json["id"] as? String == "j" && reply.json["total"] as? Int == 4)
            let ids = (reply.json["parts"] as? [[String: Any]])?.compactMap { $0["id"] as? String }
            #expect(ids == ["j.0800Z", "j.1900Z.east"])
            #expect(reply.json["state"] as? String == "waiting")
            #expect(try await bench.web.get("/api/projects/demo/jobs/k").status == 404)
        }
    }

    @Test func jobSaysWhenItsNextRetryIsDue() async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(3))
            #expect(try await bench.web.get(Self.job).json["next_retry_ms"] == nil)
            let queues = JobInquiry.retryQueues(bench.keys)
            let dueMs: Int64 = 9_000_000_001_000
            for (queue, due) in zip(queues, [dueMs + 1, dueMs]) {
                _ = try await bench.client.send(RedisCommand("ZADD", queue, String(due), "j/0"))
            }
            _ = try await bench.client.send(RedisCommand("HSET", bench.keys.job("j"), "retrying", "2"))
            #expect(try await bench.web.get(Self.job).json["next_retry_ms"] as? Int64 == dueMs)
            // The server's clock was set back by a minute.
            _ = try await bench.client.send(RedisCommand("HSET", bench.keys.base + "ctl", "lead", "60000"))
            #expect(try await bench.web.get(Self.job).json["next_retry_ms"] as? Int64 == dueMs - 60_000)
        }
    }

    @Test func pushedJobIsNotTakenAndAnUnknownOneIsMissing() async throws {
        try await withDashboard { bench in
            let push = RedisCommand("XADD", bench.keys.jobs, "*", "token", "t", "id", "mine")
            let entry = try #require(try await bench.client.send(push).string)
            for id in ["mine", entry] {
                let reply = try await bench.web.get("/api/projects/demo/jobs/\(id)")
                #expect(reply.status == 404 && reply.json["error"] as? String == "not_taken")
                #expect(reply.json["entry"] as? String == entry && reply.json["pushed_ms"] is Int)
            }
            let unknown = try await bench.web.get("/api/projects/demo/jobs/other")
            #expect(unknown.status == 404 && unknown.json["error"] as? String == "no_such_job")
        }
    }

    @Test func resultsAreFilteredByStatusAndError() async throws {
        try await withDashboard { bench in
            try await finish(bench, 50)
            func count(_ query: String) async throws -> Int? {
                (try await bench.web.get("\(Self.job)/results?\(query)").json["results"] as? [Any])?.count
            }
            #expect(try await count("") == 50)
            #expect(try await count("status=sent") == 45)
            #expect(try await count("status=failed&error=UNREGISTERED") == 5)
            #expect(try await count("error=QUOTA_EXCEEDED") == 0)
            #expect(try await count("status=unknown") == 0)
            #expect(try await count("maybe_dup=1") == 2)
            #expect(try await count("maybe_dup=1&status=failed") == 0)
            #expect(try await bench.web.get(Self.job).json["maybe_dup"] as? Int == 2)
        }
    }

    @Test func downloadsHaveEveryResultOfTheFilter() async throws {
        try await withDashboard { bench in
            try await finish(bench, 250)
            let lines = try await bench.web.get("\(Self.job)/results.ndjson")
            #expect(lines.headers["content-type"] == "application/x-ndjson; charset=utf-8")
            #expect(lines.headers["content-disposition"] == #"attachment; filename="demo-j-results.ndjson""#)
            let objects = try unchunked(lines.body).split(separator: "\n").map {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            #expect(objects.map { $0?["i"] as? Int } == Array(0..<250) && objects[1]?["token"] as? String == "t1")
            let table = try await bench.web.get("\(Self.job)/results.csv?status=failed")
            let rows = try unchunked(table.body).components(separatedBy: "\r\n")
            #expect(rows.first?.hasPrefix("i,kind,recipient,status") == true && rows.count == 27)
            #expect(rows[2] == "10,token,t10,failed,UNREGISTERED,,,remove,1,,,")
        }
    }

    /// Results name tokens; who knows a token can send to it.
    @Test func readOnlyDashboardMasksTokensAndShowsNoMessage() async throws {
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            try await finish(bench, 30)
            for path in ["results", "results.csv", "results.ndjson"] {
                let reply = try await bench.web.get("\(Self.job)/\(path)")
                #expect(reply.status == 200 && reply.body.contains("t17…[3 characters]"))
                #expect(!reply.body.contains(#""t17""#) && !reply.body.contains(",t17,"))
            }
            let message = try await bench.web.get("\(Self.job)/message")
            #expect(message.status == 403 && message.json["error"] as? String == "read_only")
        }
    }

    @Test func downloadBeyondTheLimitGets503() async throws {
        try await withDashboard { bench in
            try await finish(bench, 10)
            let routes = DashboardRoutes(
                options: DashboardOptions(),
                hub: FleetHub(maximumBrowsers: 1),
                redis: bench.client,
                logger: Logger(label: "test"),
                explain: { "\($0)" },
                sessions: Sessions(logger: Logger(label: "test")),
                now: { .zero }
            )
            let request = WebRequest(method: "GET", path: "\(Self.job)/results.csv", headers: ["host": "localhost"])
            var running: [WebReply] = []
            for _ in 0..<4 { running.append(await routes.answer(request)) }
            #expect(running.allSatisfy { $0.status == 200 && $0.body != nil })
            #expect(await routes.answer(request).status == 503)
            // The slot of a reply that ends is free again.
            running.removeLast()
            #expect(await routes.answer(request).status == 200)
        }
    }

    /// The body of a chunked reply.
    private func unchunked(_ text: String) throws -> String {
        var rest = Array(text.utf8)
        var whole: [UInt8] = []
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = try #require(Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16))
            whole += rest[line.upperBound..<line.upperBound + size]
            rest.removeFirst(line.upperBound + size + 2)
            if size == 0 { break }
        }
        return String(decoding: whole, as: UTF8.self)
    }
}
