import FanfareConfiguration
import FanfareRedis
import NGHTTP2Transport
import RedisTransport
import StreamWire
import Testing

@testable import CurlTransport
@testable import FanfareClient
@testable import fanfare

/// Checks of projects, workers, quotas, the machine and the route to Redis.
@Suite struct DoctorProjectRuleTests {
    private func overview(_ fields: [String] = []) throws -> OverviewReply {
        try #require(OverviewReply(.array((["now_ms", "1"] + fields).map { .bulk(Array($0.utf8)) })))
    }

    private func project(
        _ id: String,
        _ fields: String...,
        change: (inout ProjectSnapshot) -> Void = { _ in }
    ) throws -> ProjectSnapshot {
        var snapshot = ProjectSnapshot(id: id, overview: try overview(fields))
        change(&snapshot)
        return snapshot
    }

    private func lease(_ name: String, version: String, silentMs: Int64? = 1) throws -> WorkerLease {
        let card = #"{"version":"\#(version)","host":"h","pid":1,"started_ms":1,"lease_ms":10000,"in_flight":0}"#
        return WorkerLease(
            name: name,
            silentMs: silentMs,
            batches: 0,
            card: silentMs == nil ? nil : WorkerRegistration(card)
        )
    }

    private func examine(
        _ check: Check,
        _ projects: [ProjectSnapshot],
        flags: [String: String] = [:],
        environment: [String: String] = ["FANFARE_PROJECTS": "demo"],
        _ change: (inout Check.Subject) -> Void = { _ in }
    ) async throws -> [String] {
        var facts = RedisFacts()
        facts.projects = projects
        let configuration = try Configuration.load(file: nil, environment: environment, flags: flags)
        let deployment = try RedisDeployment(url: "redis://h")
        var subject = Check.Subject(configuration: configuration, deployment: deployment, redis: facts)
        change(&subject)
        let findings = await check.examine(subject)
        for finding in findings { #expect((finding.remedy == nil) == (finding.severity == .ok), "\(finding.line)") }
        return findings.map { "\($0.severity) \($0.check): \($0.text)" }
    }

    @Test func conditionsOfProjectsAreReported() async throws {
        let projects = try [
            project("fine"), project("held", "paused", "1", "pause_reason", "lunch"),
            project("stuck", "block", "credentials: refused", "parked", "2") { $0.dead = 5 },
            project("full", "pressure", "results", "alive", "1"), project("large", "pressure", "memory", "alive", "1"),
            project("unheard", "pressure", "feedback", "alive", "1"),
            project("lossy", "pressure", "eviction", "alive", "1"),
            project("slow", "open", "1", "active", "j"),
            project("unread") { $0.unreadResults = 700_000 }, project("alone", "open", "1"),
            project("asked", "hold_ms", "900") { $0.recipientsWaiting = 1 },
        ]
        let lines = try await examine(.projectStates, projects) { $0.redis?.stuck = ["slow": "j"] }
        #expect(
            lines == [
                "ok project fine: idle", "warn project held: paused: lunch",
                "fail project stuck: nothing can be sent: credentials: refused",
                "warn project stuck: 2 parked jobs need an operator",
                "warn project stuck: 3 rejected jobs are kept in `dead`",
                "fail project full: takes no jobs: the stream results is not read: a consumer group is too far behind",
                "fail project large: takes no jobs: Redis is nearly out of memory",
                "fail project unheard: takes no jobs: the stream feedback is not read: a consumer group is too far behind",
                "fail project lossy: takes no jobs: Redis may drop keys: set its maxmemory-policy to noeviction",
                "fail project slow: its active fan-out j makes no progress",
                "warn project unread: 700000 results entries are not acknowledged; workers stop at 1000000",
                // No line about the project without a worker: the check of the workers has it.
                "ok project asked: held: FCM asked to wait, for another 1 s, 1 recipient waits",
            ]
        )
    }

    @Test func fanoutIsStuckOnlyWithoutAReason() throws {
        #expect(RedisProbe.stuckFanout(of: try project("p", "open", "1", "active", "j", "active_left", "-")) == "j")
        let aimed = try project("p", "open", "1", "active", "j", "active_left", "5000")
        #expect(RedisProbe.stuckFanout(of: aimed) == nil, "FCM is busy with it")
        let paused = try project("p", "open", "1", "active", "j", "active_left", "-", "paused", "1")
        #expect(RedisProbe.stuckFanout(of: paused) == nil)
        #expect(RedisProbe.stuckFanout(of: try project("p", "open", "1")) == nil)
    }

    @Test func workersCheckReportsMissingWorkersAndMixedVersions() async throws {
        let old = try lease("a.x.1", version: "0.1.0")
        let new = try lease("b.x.1", version: "0.2.0")
        let gone = try lease("c.x.1", version: "0.0.9", silentMs: 20_000)
        func fleet(_ leases: WorkerLease..., jobs: String = "0") throws -> [ProjectSnapshot] {
            try [project("demo", "open", jobs) { $0.leases = leases }]
        }
        #expect(try await examine(.workers, fleet(old)) == ["ok workers: 1 alive, version 0.1.0"])
        #expect(try await examine(.workers, fleet(old, gone)) == ["ok workers: 1 alive, version 0.1.0"])
        #expect(
            try await examine(.workers, fleet(old, new)) == [
                "warn workers: 2 alive, of different versions: 0.1.0, 0.2.0"
            ]
        )
        #expect(
            try await examine(.workers, fleet(gone)) == [
                "warn workers: none is alive for project demo, where no job waits"
            ]
        )
        #expect(
            try await examine(.workers, fleet(jobs: "3")) == [
                "fail workers: project demo is unserved: no worker is alive, and 3 jobs wait"
            ]
        )
    }

    /// A worker writes its version two seconds after its start.
    @Test func workerThatJustStartedHasNoVersionYet() async throws {
        let old = try lease("a.x.1", version: "0.1.0")
        let new = try lease("b.x.1", version: "", silentMs: nil)
        func lines(_ leases: WorkerLease...) async throws -> [String] {
            try await examine(.workers, [project("demo") { $0.leases = leases }])
        }
        #expect(try await lines(new) == ["ok workers: 1 alive, just started"])
        #expect(try await lines(old, new) == ["ok workers: 2 alive, version 0.1.0, 1 just started"])
    }

    @Test func summaryCountsVerdictsAndNamesTheFirstFailure() {
        var report = Report("redis")
        report.ok("answers")
        #expect(report.findings.summary == "1 ok")
        report.warn("slow", "r")
        #expect(report.findings.summary == "1 ok, 1 warning")
        report.check = "project my-app"
        report.fail("blocked", "r")
        report.check = "workers"
        report.fail("none", "r")
        report.warn("old", "r")
        #expect(report.findings.summary == "1 ok, 2 warnings, 2 failed: fix `project my-app` first")
    }

    @Test func quotaCheckWarnsOfUnusualQuotas() async throws {
        func lines(_ quota: String, _ fleet: String, fanouts: String = "1") async throws -> [String] {
            try await examine(
                .quotas,
                [project("demo", "quota", fleet)],
                environment: [
                    "FANFARE_PROJECTS": "demo", "FANFARE_PROJECTS_DEMO_QUOTA_PER_MINUTE": quota,
                    "FANFARE_PROJECTS_DEMO_ACTIVE_FANOUTS": fanouts,
                ]
            )
        }
        #expect(try await lines("600000", "600000") == ["ok quota of demo: 600000 messages a minute"])
        #expect(try await lines("900000", "0")[0].hasPrefix("warn quota of demo: 900000 messages a minute, more than"))
        #expect(try await lines("59", "0")[0].contains("less than one a second"))
        #expect(
            try await lines("600", "700") == ["warn quota of demo: the workers use 700, this configuration says 600"]
        )
        #expect(try await lines("600", "0", fanouts: "2")[0].contains("active_fanouts 2"))
    }

    @Test func machineChecksReportLimitsLibrariesAndVariables() async throws {
        let environment = ["FANFARE_PROJECTS": "a,b,c", "FANFARE_WORKER_MAX_LANES": "100"]
        func descriptors(_ limit: UInt64) async throws -> [String] {
            try await examine(.descriptors, [], environment: environment) { $0.fileLimit = limit }
        }
        #expect(try await descriptors(664) == ["ok descriptors: at most 664 open files, a worker needs about 664"])
        #expect(
            try await descriptors(663)
                == ["warn descriptors: at most 663 open files, and a worker of this configuration may need 664"]
        )
        #expect(try await descriptors(73)[0].hasPrefix("warn descriptors: at most 73 open files, "))
        #expect(
            try await descriptors(72) == ["fail descriptors: at most 72 open files, and 3 projects need at least 73"]
        )
        let fine = CurlLibrary(version: "7.88.1", tls: "OpenSSL/3.0.15", hasHTTP2: true, looksUpNamesAside: true)
        func libraries(_ curl: CurlLibrary) async throws -> [String] {
            try await examine(.libraries, []) { $0.curl = curl }
        }
        #expect(try await libraries(fine) == ["ok libcurl: 7.88.1 with OpenSSL/3.0.15, HTTP/2"])
        #expect(try await libraries(.current).first?.hasPrefix("ok ") == true, "\(CurlLibrary.current)")
        for (change, severity) in [(0, "fail"), (1, "warn"), (2, "warn")] {
            var odd = fine
            if change == 0 { odd.hasHTTP2 = false }
            if change == 1 { odd.tls = "GnuTLS/3.7.9" }
            if change == 2 { odd.looksUpNamesAside = false }
            #expect(try await libraries(odd).first?.hasPrefix("\(severity) libcurl: ") == true)
        }
        let ignored = try await examine(.environment, []) { $0.ignoredVariables = ["https_proxy", "SSL_CERT_FILE"] }
        #expect(
            ignored == [
                "warn environment: https_proxy is set and has no effect here",
                "warn environment: SSL_CERT_FILE is set and has no effect here",
            ]
        )
    }

    @Test func engineOfEachProjectIsNamed() async throws {
        let environment = ["FANFARE_PROJECTS": "a,b", "FANFARE_PROJECTS_B_HTTP_ENGINE": "nghttp2"]
        #expect(
            try await examine(.engines, [], environment: environment) == [
                "ok http_engine of a: curl", "ok http_engine of b: nghttp2 \(NGHTTP2Library.version)",
            ]
        )
    }

    @Test(arguments: [
        ("redis://127.0.0.1", "default", 0), ("unix:///run/redis.sock", "default", 0),
        ("redis://redis.internal", "default", 3),
        ("redis://u:p@redis.internal", "u", 1), ("rediss://u:p@redis.internal", "u", 0),
        ("rediss://:p@redis.internal", "default", 1), ("rediss://redis.internal", "u", 1),
    ])
    func accessCheckWarnsOfEachExposure(url: String, user: String, concerns: Int) async throws {
        let deployment = try RedisDeployment(url: url)
        let lines = try await examine(.access, []) {
            $0.deployment = deployment
            $0.redis?.user = user
        }
        #expect(lines.filter { $0.hasPrefix("warn access: ") }.count == concerns, "\(lines)")
        #expect(lines.count == max(1, concerns))
        #expect(!lines.joined().contains(":p@"))
        let refused = try await examine(.access, []) { $0.redis?.accessError = "NOPERM x" }
        #expect(refused == ["fail access: this user may not read a project: NOPERM x"])
    }

    @Test func findingEscapesForeignTextToOneLine() {
        var report = Report("project demo")
        report.warn("paused: a\nok    redis: fine\u{1B}[2J", "r")
        report.ok(String(repeating: "x", count: 1_000))
        let lines = report.findings.map(\.line)
        #expect(lines[0] == #"warn  project demo: paused: a\u000aok    redis: fine\u001b[2J"# + "\n      remedy: r")
        #expect(lines[1].count < 450)
    }
}
