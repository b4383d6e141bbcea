import Foundation
import StreamWire
import TestSupport
import Testing

/// The worker's admin address: health, readiness and metrics.
@Suite struct AdminTests {
    private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

    /// Reads the admin port from a worker's log.
    private func port(of worker: ChildProcess) throws -> Int {
        let log = worker.stderr
        let line = try #require(log.split(separator: "\n").last { $0.contains("The admin address listens.") })
        let address = try #require(line.split(separator: " ").last { $0.hasPrefix("address=127.0.0.1:") })
        return try #require(address.split(separator: ":").last.flatMap { Int($0) })
    }

    private func ask(_ port: Int, _ path: String) throws -> String {
        String(decoding: try LoopbackHTTP(port: port).request("GET", path), as: UTF8.self)
    }

    /// Waits until one answer of `/metrics` contains all `lines`.
    private func metrics(_ port: Int, show lines: [String]) async throws {
        var missing = lines
        try await Wait.until("\(missing) in the metrics") {
            let text = Set(try ask(port, "/metrics").split(separator: "\n").map(String.init))
            missing = lines.filter { !text.contains($0) }
            return missing.isEmpty
        }
    }

    /// The metrics while the fourth recipient of the test's job waits for its retry.
    private static let counters = [
        #"fanfare_jobs_total{project="demo",outcome="accepted"} 1"#,
        #"fanfare_jobs_total{project="demo",outcome="rejected"} 1"#,
        #"fanfare_sends_total{project="demo",transport="v1",verdict="sent"} 2"#,
        #"fanfare_sends_total{project="demo",transport="v1",verdict="failed"} 1"#,
        #"fanfare_sends_total{project="demo",transport="v1",verdict="retry"} 1"#,
        #"fanfare_send_latency_seconds_count{project="demo",transport="v1"} 4"#,
        #"fanfare_refusals_total{project="demo",kind="server"} 1"#,
        #"fanfare_retries_total{project="demo",cause="answered"} 1"#,
        #"fanfare_retry_delay_seconds_count{project="demo"} 1"#,
        #"fanfare_results_total{project="demo",status="sent"} 2"#,
        #"fanfare_results_total{project="demo",status="failed"} 1"#,
        #"fanfare_failures_total{project="demo",error="UNREGISTERED"} 1"#,
        #"fanfare_queue_wait_seconds_count{project="demo"} 4"#,
        #"fanfare_batches_total{project="demo",outcome="closed"} 1"#,
        #"fanfare_in_flight{project="demo"} 0"#,
        #"fanfare_credentials_ready{project="demo"} 1"#,
        "fanfare_redis_connected 1",
        // Fleet-wide gauges, as last read from Redis.
        #"fanfare_dead_jobs{project="demo"} 1"#,
        #"fanfare_recipients_waiting{project="demo"} 1"#,
        #"fanfare_recipients_retrying{project="demo"} 1"#,
        #"fanfare_workers_alive{project="demo"} 1"#,
        #"fanfare_quota_per_minute{project="demo"} 100000000"#,
    ]

    @Test func adminAddressReportsHealthAndCounters() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let worker = try await rig.startWorker(
                try rig.configuration(extra: "admin: { listen: \"127.0.0.1:0\" }"),
                until: "The admin address listens."
            )
            let port = try port(of: worker)
            try await Wait.until("the worker to be ready") {
                try ask(port, "/readyz") == readyBody
            }
            #expect(try ask(port, "/healthz").hasPrefix(#"{"status":"ok","silent_ms":"#))

            try await rig.push([
                "id": "news", "message": hello,
                "tokens": Rig.tokens(["healthy-1", "healthy-2", "sbx-unregistered-1", "sbx-unavailable-1-x"]),
            ])
            try await rig.push(["id": "bad", "message": "{}", "token": "not a token"])
            try await metrics(port, show: Self.counters)

            // The address is in use: the second worker logs it once and works without an admin address.
            let second = try await rig.startWorker(
                try rig.configuration(extra: "admin: { listen: \"127.0.0.1:\(port)\" }"),
                until: "The admin address cannot be used; the worker runs without it."
            )
            try await second.logged("The worker is connected.")
            worker.signal(SIGTERM)
            let status = try await worker.wait()
            #expect(status == 0)
            try await rig.push(["id": "more", "message": hello, "token": "healthy-3"])
            try await rig.finished("more")
            #expect(second.stderr.components(separatedBy: "cannot be used").count == 2, "the warning is logged once")
        }
    }

    /// The lines of a gauge of the fleet, with its `HELP` and `TYPE`, and the series that must be equal at this moment.
    private func fleet(_ port: Int) throws -> (heads: [String], series: [String]) {
        let lines = try ask(port, "/metrics").split(separator: "\n").map(String.init)
        let names = Set(try PageTable(page: "Metrics", section: "### Gauges of the fleet", column: "metric").names)
        // These change by themselves.
        let moving = ["fanfare_permits", "fanfare_permit_rate", "fanfare_oldest_wait_seconds", "fanfare_fanout_epoch"]
        let heads = lines.filter { $0.hasPrefix("# ") && names.contains(String($0.split(separator: " ")[2])) }
        let series = lines.filter { line in
            let name = line.prefix { $0 != "{" && $0 != " " }
            return names.contains(String(name)) && !moving.contains(String(name))
        }
        return (heads, series)
    }

    @Test func dashboardServesTheSameGaugesOfTheFleetAndAlsoWithoutAWorker() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let file = try rig.configuration(extra: "admin: { listen: \"127.0.0.1:0\" }")
            let worker = try await rig.startWorker(file, until: "The admin address listens.")
            let dashboard = try ChildProcess(["dashboard", "-c", file, "--listen", "127.0.0.1:0"])
            try await dashboard.logged("dashboard: http://127.0.0.1:")
            let (ofWorker, ofDashboard) = (
                try port(of: worker),
                try #require(dashboard.stderr.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) })
            )
            try await rig.push(["id": "later", "message": hello, "token": "t", "not_before": "4000000000000"])
            let lines = [
                #"fanfare_jobs_scheduled{project="demo"} 1"#, #"fanfare_recipients_waiting{project="demo"} 1"#,
                #"fanfare_workers_alive{project="demo"} 1"#,
            ]
            for port in [ofWorker, ofDashboard] { try await metrics(port, show: lines) }
            let (here, there) = (try fleet(ofWorker), try fleet(ofDashboard))
            #expect(here.heads == there.heads && here.heads.count > 40)
            #expect(here.series == there.series && here.series.count > 15)

            worker.signal(SIGTERM)
            #expect(try await worker.wait() == 0)
            try await rig.push(["id": "now", "message": hello, "token": "t"])
            try await metrics(
                ofDashboard,
                show: [
                    #"fanfare_workers_alive{project="demo"} 0"#, #"fanfare_entries_waiting{project="demo"} 1"#,
                    #"fanfare_jobs_open{project="demo"} 1"#,
                ]
            )
            dashboard.signal(SIGTERM)
            #expect(try await dashboard.wait() == 0)
        }
    }

    private let readyBody =
        #"{"status":"ready","redis":"connected","draining":false,"projects":{"demo":"ready"}}"# + "\n"
}
