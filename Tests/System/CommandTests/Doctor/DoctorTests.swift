import FanfareJSON
import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare doctor` against real servers.
@Suite struct DoctorCommandTests {
    private func findings(_ run: CommandRun) throws -> [String: String] {
        let object = try #require(try JSONParser.parse(Array(run.out.utf8), limits: JSONLimits()).object)
        #expect(object["ok"]?.bool == (run.status == 0))
        var findings: [String: String] = [:]
        for check in object["checks"]?.array ?? [] {
            let name = try #require(check.object?["check"]?.string)
            // The worst of each.
            let severity = try #require(check.object?["verdict"]?.string)
            if findings[name] != "fail" { findings[name] = severity }
        }
        return findings
    }

    private func configure(_ redis: RedisServer, mode: Int = 0o600) throws -> String {
        let key = try redis.folder.write("key.json", try Certificates.serviceAccount())
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: key)
        return try redis.folder.write(
            "fanfare.yaml",
            "redis: { url: \"unix://\(redis.socketPath)\" }\nprojects: { demo: { credentials: key.json, endpoint: \"https://localhost\" } }\n"
        )
    }

    @Test func doctorPassesAGoodServer() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb", "--appendfsync", "always"])
        let file = try configure(redis)
        _ = try await CommandRun(["functions", "load", "-c", file])
        let run = try await CommandRun(["doctor", "-c", file, "--no-online", "--json"])
        let found = try findings(run)
        #expect(run.status == 0, "\(run.out)")
        #expect(found.filter { $0.value != "ok" } == ["workers": "warn"], "\(run.out)")
        #expect(
            Set(found.keys) == [
                "redis", "redis version", "redis role", "access", "functions", "persistence", "durability",
                "eviction policy", "memory", "replicas", "clock", "workers", "project demo", "quota of demo",
                "configuration", "credentials of demo", "http_engine of demo", "libcurl", "descriptors",
            ]
        )
        let text = try await CommandRun(["doctor", "-c", file, "--no-online"])
        #expect(text.out.contains("ok    persistence: append-only file, appendfsync always"))
        #expect(text.out.hasSuffix("\n\n18 ok, 1 warning\n"), "\(text.out)")
    }

    /// Before its first worker, Redis has no functions to read a project with.
    @Test func doctorReportsAMissingWorkerBeforeTheFirstOne() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb", "--appendfsync", "always"])
        let file = try configure(redis)
        let idle = try await CommandRun(["doctor", "-c", file, "--no-online"])
        #expect(idle.status == 0)
        #expect(idle.out.contains("warn  workers: none is alive for project demo, where no job waits"), "\(idle.out)")
        _ = try redis.cli("XADD", "fanfare:{demo}:jobs", "*", "token", "a", "message", "{}")
        let waiting = try await CommandRun(["doctor", "-c", file, "--no-online"])
        #expect(waiting.status == 1)
        // Failures stand last, before the line that counts them.
        let end = try #require(waiting.out.split(separator: "FAIL  ").last)
        #expect(
            end.hasPrefix("workers: project demo is unserved: no worker is alive, and 1 job waits\n"),
            "\(waiting.out)"
        )
        #expect(end.hasSuffix("1 failed: fix `workers` first\n"), "\(waiting.out)")
        #expect(!waiting.out.contains("ok    project demo"), "\(waiting.out)")
    }

    @Test func doctorTestsCredentialsAndFindsUnknownProjectsUnlessOffline() async throws {
        let redis = try RedisServer()
        let file = try configure(redis)
        _ = try await CommandRun(["functions", "load", "-c", file])
        for project in ["demmo", "demo"] {
            _ = try redis.cli("XADD", "fanfare:{\(project)}:jobs", "*", "token", "a", "message", "{}")
        }
        // Not a valid project id.
        _ = try redis.cli("XADD", "fanfare:{De mo}:jobs", "*", "token", "a")
        let run = try await CommandRun(["doctor", "-c", file])
        // Without a flag the token endpoint is tried; here none answers.
        #expect(run.out.contains("FAIL  token of demo: "), "\(run.out)")
        let named = run.out.split(separator: "\n").filter { $0.contains("this configuration does not name it") }
        #expect(named.count == 1, "\(run.out)")
        #expect(named.first?.contains("project demmo: unserved: 1 job waits") == true, "\(run.out)")
        let offline = try await CommandRun(["doctor", "-c", file, "--no-online"])
        #expect(!offline.out.contains("demmo") && !offline.out.contains("token of demo"))
    }

    @Test func doctorReportsEveryFault() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        let file = try configure(redis, mode: 0o644)
        _ = try redis.cli("CONFIG", "SET", "min-replicas-to-write", "1")
        _ = try redis.cli("CONFIG", "SET", "appendfsync", "no")
        let run = try await CommandRun(["doctor", "-c", file, "--json"])
        let found = try findings(run)
        #expect(run.status == 1)
        #expect(found["eviction policy"] == "fail" && found["replicas"] == "fail" && found["persistence"] == "fail")
        #expect(found["functions"] == "warn" && found["credentials of demo"] == "warn")
        #expect(run.out.contains("chmod") && run.out.contains("noeviction"))
    }

    @Test func forbiddenCommandsGiveWarningsOnly() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb"])
        _ = try redis.cli("ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all", "-config", "-function")
        let run = try await CommandRun(["doctor", "--redis", "unix://worker:pw@\(redis.socketPath)", "--json"])
        let found = try findings(run)
        #expect(run.status == 0, "\(run.out)\(run.err)")
        #expect(found["persistence"] == "warn" && found["functions"] == "warn" && found["eviction policy"] == "ok")
        #expect(!run.out.contains("pw"))
    }

    @Test func userWithoutFunctionRightsFailsTheDoctor() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb"])
        let file = try configure(redis)
        _ = try await CommandRun(["functions", "load", "-c", file])
        _ = try redis.cli("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-fcall", "-fcall_ro")
        let url = "unix://reader:pw@\(redis.socketPath)"
        let run = try await CommandRun(["doctor", "-c", file, "--json"], environment: ["FANFARE_REDIS_URL": url])
        #expect(run.status == 1 && run.out.contains("this user may not read a project"), "\(run.out)")
        #expect(try findings(run)["access"] == "fail")
    }

    @Test func replicaAndAbsentServerFailTheDoctor() async throws {
        let primary = try RedisServer(port: .plain, config: ["--appendfsync", "always"])
        let replica = try RedisServer(config: ["--replicaof", "127.0.0.1", "\(primary.port)"])
        let run = try await CommandRun(["doctor", "--redis", "unix://\(replica.socketPath)", "--json"])
        #expect(run.status == 1)
        #expect(try findings(run)["redis role"] == "fail")
        try replica.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        // The primary calls it online a moment later.
        try primary.waitFor { try $0.cli("INFO", "replication").contains("state=online") }
        let other = try await CommandRun(["doctor", "--redis", "unix://\(primary.socketPath)", "--json"])
        #expect(try findings(other)["replicas"] == "warn")
        #expect(other.out.contains("writes not yet replicated"))

        let absent = try await CommandRun(["doctor", "--redis", "unix:///nowhere.sock", "--json"])
        #expect(absent.status == 1)
        #expect(try findings(absent)["redis"] == "fail")
    }
}
