import FanfareMetrics
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// `/metrics` of the dashboard.
@Suite(.timeLimit(.minutes(5))) struct FleetMetricsTests {
    private static let token = "a-token-of-some-length"
    private static let scrapeToken = "a-token-of-a-scraper"

    private func until(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Waits until `/metrics` holds all lines, and returns its last answer.
    @discardableResult
    private func metrics(_ bench: DashboardBench, show lines: [String]) async throws -> WebAnswer {
        var answer = try await bench.web.get("/metrics")
        try await until {
            answer = try await bench.web.get("/metrics")
            let known = Set(answer.body.split(separator: "\n").map(String.init))
            return lines.allSatisfy(known.contains)
        }
        return answer
    }

    @Test func everyGaugeOfTheFleetIsServedOnceWithItsHelp() async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(3))
            #expect(try await bench.claim().count == 1)
            // The claim reports the quota.
            let quota = #"fanfare_quota_per_minute{project="demo"} 600000"#
            let answer = try await metrics(bench, show: [#"fanfare_recipients_waiting{project="demo"} 3"#, quota])
            #expect(answer.headers["content-type"] == PrometheusText.contentType)
            let lines = answer.body.split(separator: "\n").map(String.init)
            #expect(lines.contains(#"fanfare_jobs_open{project="demo"} 1"#))
            #expect(lines.contains(#"fanfare_workers_alive{project="demo"} 1"#))
            #expect(lines.contains(#"fanfare_pressure{project="demo",kind="memory"} 0"#))
            #expect(lines.contains(#"fanfare_jobs_stopped{project="demo",guard="stop_if"} 0"#))
            let fleet = MetricCatalogue.all.filter { $0.scope == .fleet }
            #expect(lines.filter { $0.hasPrefix("# HELP ") } == fleet.map { "# HELP \($0.name) \($0.help)" })
            #expect(lines.filter { $0.hasPrefix("# TYPE ") } == fleet.map { "# TYPE \($0.name) gauge" })
        }
    }

    /// A lease of a killed worker stays in Redis until another worker sees it.
    @Test func workThatWaitsWithoutAWorkerIsSeen() async throws {
        try await withDashboard { bench in
            let silent = #"1|{"lease_ms":1}"#
            _ = try await bench.client.send(RedisCommand("HSET", bench.keys.base + "about", "w.x.1", silent))
            _ = try await bench.client.send(RedisCommand("XADD", bench.keys.jobs, "*", "token", "t"))
            try await metrics(
                bench,
                show: [
                    #"fanfare_workers_alive{project="demo"} 0"#, #"fanfare_entries_waiting{project="demo"} 1"#,
                ]
            )
        }
    }

    @Test func projectThatCannotBeReadHasNoSeries() async throws {
        try await withDashboard { bench in
            _ = try await bench.client.send(RedisCommand("SADD", ProjectKeys.projects(), "other"))
            try await metrics(bench, show: [#"fanfare_dead_jobs{project="other"} 0"#])
            _ = try await bench.client.send(RedisCommand("SET", ProjectKeys(project: "other").base + "dead", "x"))
            try await until {
                let body = try await bench.web.get("/metrics").body
                return body.contains(#"project="demo""#) && !body.contains(#"project="other""#)
            }
        }
    }

    /// Figures of the past would pass for current ones.
    @Test func metricsAreUnavailableWhileRedisDoesNotAnswer() async throws {
        try await withDashboard { bench in
            try await metrics(bench, show: [#"fanfare_dead_jobs{project="demo"} 0"#])
            bench.server.stop()
            try await until { try await bench.web.get("/metrics").status == 503 }
            #expect(try await bench.web.get("/healthz").status == 200)
        }
    }

    @Test func scrapeTokenOpensTheMetricsAlone() async throws {
        try await withDashboard {
            $0.token = Self.token
            $0.metricsToken = Self.scrapeToken
        } _: { bench in
            func status(_ path: String, _ token: String?) async throws -> Int {
                var web = bench.web
                if let token { web.headers["Authorization"] = "Bearer \(token)" }
                return try await web.get(path).status
            }
            try await until { try await status("/api/fleet", Self.token) == 200 }
            for path in ["/metrics", "/%6detrics"] {
                #expect(try await status(path, nil) == 401)
                #expect(try await status(path, "another-token-of-some-length") == 401)
                #expect(try await status(path, Self.scrapeToken) == 200)
                #expect(try await status(path, Self.token) == 200)
            }
            #expect(try await status("/api/fleet", Self.scrapeToken) == 401)
            #expect(try await status("/api/projects/demo/audit", Self.scrapeToken) == 401)
        }
    }

    /// DNS rebinding: a web page must not read the metrics of this machine.
    @Test func foreignHostReadsNoMetrics() async throws {
        try await withDashboard { bench in
            var web = bench.web
            web.host = "evil.example:8490"
            let answer = try await web.get("/metrics")
            #expect(answer.status == 421)
        }
    }

    @Test(arguments: ["short", "a token with blanks in it"]) func weakScrapeTokenIsRefused(_ token: String) {
        var options = DashboardOptions()
        options.metricsToken = token
        #expect(options.fault?.hasPrefix("the token of the metrics ") == true)
    }
}
