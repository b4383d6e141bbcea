import FanfareConfiguration
import FanfareJSON
import RedisTransport
import StreamWire
import Testing

@testable import fanfare

/// Checks of Redis, as rules over its facts.
@Suite struct DoctorRuleTests {
    private func subject() throws -> Check.Subject {
        Check.Subject(
            configuration: try Configuration.load(file: nil, environment: [:]),
            deployment: try RedisDeployment(url: "redis://h")
        )
    }

    private func examine(
        _ check: Check,
        info: [String: String] = [:],
        settings: [String: String] = [:],
        _ change: (inout RedisFacts) -> Void = { _ in }
    ) async throws -> [Finding] {
        var facts = RedisFacts(info: info, settings: settings)
        change(&facts)
        var subject = try subject()
        subject.redis = facts
        if let replicas = settings["safe"].flatMap({ Int($0) }) {
            subject.configuration.redis.durability = .safe
            subject.configuration.redis.replicas = replicas
        }
        return await check.examine(subject)
    }

    @Test func findingsNamePrimariesThatDiffer() async throws {
        func primaries(_ policies: [String]) -> [(name: String, facts: RedisFacts)] {
            policies.enumerated().map { ("n\($0)", RedisFacts(info: ["maxmemory_policy": $1])) }
        }
        func verdicts(_ policies: [String]) async throws -> [String] {
            try await examine(.evictionPolicy, info: ["maxmemory_policy": policies[0]]) {
                $0.primaries = primaries(policies)
            }.map { "\($0.severity) \($0.text.prefix(while: { $0 != ";" }))" }
        }
        let lost = "Redis may delete jobs and results when its memory is full"
        #expect(try await verdicts(["noeviction", "noeviction"]) == ["ok noeviction"])
        #expect(try await verdicts(["noeviction", "allkeys-lru"]) == ["fail n1: allkeys-lru: \(lost)"])
        #expect(try await verdicts(["volatile-ttl", "noeviction"]) == ["fail n0: volatile-ttl: \(lost)"])
        // All alike: the server's own words.
        #expect(try await verdicts(["allkeys-lru", "allkeys-lru"]) == ["fail allkeys-lru: \(lost)"])
    }

    struct Row: Sendable {
        var check: Check
        var info: [String: String] = [:]
        var settings: [String: String] = [:]
        var severity: Finding.Severity
        var says: String
    }

    @Test(arguments: [
        Row(check: .redisVersion, info: ["redis_version": "7.0.15"], severity: .ok, says: "7.0.15"),
        Row(check: .redisVersion, info: ["redis_version": "8.2"], severity: .ok, says: "8.2"),
        Row(
            check: .redisVersion,
            info: ["redis_version": "7.2.4", "valkey_version": "8.0.1"],
            severity: .ok,
            says: "7.2.4, as Valkey 8.0.1"
        ),
        Row(check: .redisVersion, info: ["redis_version": "6.2.14"], severity: .fail, says: "7.0"),
        Row(check: .redisVersion, info: ["redis_version": "x"], severity: .warn, says: "does not report"),
        Row(check: .redisVersion, severity: .warn, says: "does not report"),
        Row(check: .redisRole, info: ["role": "master"], severity: .ok, says: "primary"),
        Row(
            check: .redisRole,
            info: ["role": "slave", "master_host": "h", "master_port": "1"],
            severity: .fail,
            says: "h:1"
        ),
        Row(
            check: .redisRole,
            info: ["role": "master", "cluster_enabled": "1"],
            severity: .fail,
            says: "a node of a cluster"
        ),
        Row(check: .redisRole, info: ["role": "master", "loading": "1"], severity: .fail, says: "loading"),
        Row(check: .evictionPolicy, info: ["maxmemory_policy": "noeviction"], severity: .ok, says: "noeviction"),
        Row(check: .evictionPolicy, info: ["maxmemory_policy": "allkeys-lru"], severity: .fail, says: "allkeys-lru"),
        Row(check: .evictionPolicy, info: ["maxmemory_policy": "volatile-ttl"], severity: .fail, says: "may delete"),
        Row(check: .memory, info: ["used_memory": "59", "maxmemory": "100"], severity: .ok, says: "59 %"),
        Row(check: .memory, info: ["used_memory": "60", "maxmemory": "100"], severity: .warn, says: "stop at 80 %"),
        Row(check: .memory, info: ["used_memory": "80", "maxmemory": "100"], severity: .fail, says: "take no jobs"),
        Row(check: .memory, info: ["used_memory": "80", "maxmemory": "0"], severity: .warn, says: "no maxmemory"),
        Row(check: .memory, info: ["used_memory": "-1", "maxmemory": "0"], severity: .warn, says: "does not report"),
        Row(check: .replicas, info: ["connected_slaves": "0"], severity: .ok, says: "none"),
        Row(
            check: .replicas,
            info: ["connected_slaves": "0"],
            settings: ["min-replicas-to-write": "1"],
            severity: .fail,
            says: "refuses writes"
        ),
        Row(
            check: .replicas,
            info: ["connected_slaves": "1", "slave0": "ip=h,port=1,state=online,offset=5,lag=0"],
            severity: .warn,
            says: "no write waits"
        ),
        Row(
            check: .replicas,
            info: ["connected_slaves": "1", "slave0": "ip=h,port=1,state=online,offset=5,lag=0"],
            settings: ["min-replicas-to-write": "1"],
            severity: .ok,
            says: "1 online"
        ),
        Row(
            check: .replicas,
            info: ["connected_slaves": "1", "slave0": "ip=h,port=1,state=online,offset=5,lag=60"],
            severity: .warn,
            says: "60 s"
        ),
        Row(
            check: .replicas,
            info: ["connected_slaves": "1", "slave0": "ip=h,port=1,state=wait_bgsave,offset=0,lag=0"],
            severity: .warn,
            says: "1 connected, 0 online"
        ),
    ])
    func serverChecksGiveTheSeverityOfEachFact(row: Row) async throws {
        let findings = try await examine(row.check, info: row.info, settings: row.settings)
        let finding = try #require(findings.first)
        #expect(findings.count == 1)
        #expect(finding.severity == row.severity, "\(finding.line)")
        #expect(finding.text.contains(row.says), "\(finding.line)")
        #expect((finding.remedy == nil) == (row.severity == .ok), "\(finding.line)")
    }

    private static let aof = ["aof_enabled": "1", "aof_last_write_status": "ok"]

    @Test(arguments: [
        Row(check: .persistence, info: aof, settings: ["appendfsync": "always"], severity: .ok, says: "always"),
        Row(check: .persistence, info: aof, settings: ["appendfsync": "everysec"], severity: .ok, says: "everysec"),
        Row(
            check: .persistence,
            info: aof,
            settings: ["appendfsync": "no"],
            severity: .fail,
            says: "any number of writes"
        ),
        Row(check: .persistence, info: aof, severity: .warn, says: "may not read"),
        Row(
            check: .persistence,
            info: ["aof_enabled": "0"],
            settings: ["save": ""],
            severity: .fail,
            says: "every job"
        ),
        Row(check: .persistence, info: ["aof_enabled": "0"], severity: .fail, says: "snapshots only"),
        Row(
            check: .persistence,
            info: aof.merging(["aof_last_write_status": "err"]) { $1 },
            settings: ["appendfsync": "always"],
            severity: .fail,
            says: "last write"
        ),
        Row(
            check: .persistence,
            info: aof.merging(["aof_delayed_fsync": "3"]) { $1 },
            settings: ["appendfsync": "everysec"],
            severity: .warn,
            says: "3 syncs were late"
        ),
        Row(
            check: .persistence,
            info: aof.merging(["rdb_last_bgsave_status": "err"]) { $1 },
            settings: ["appendfsync": "always", "save": "60 1"],
            severity: .warn,
            says: "snapshot failed"
        ),
        Row(
            check: .durability,
            info: aof,
            settings: ["appendfsync": "everysec"],
            severity: .ok,
            says: "power lost: about the last second; failover: no replica"
        ),
        Row(
            check: .durability,
            info: aof.merging(["slave0": "state=online,lag=0"]) { $1 },
            settings: ["appendfsync": "always"],
            severity: .ok,
            says: "power lost: nothing is lost; failover: writes not yet replicated are lost"
        ),
        Row(
            check: .durability,
            info: aof.merging(["slave0": "state=online,lag=0"]) { $1 },
            settings: ["appendfsync": "always", "min-replicas-to-write": "1"],
            severity: .ok,
            says: "no replica had confirmed"
        ),
        Row(
            check: .durability,
            info: aof.merging(["slave0": "state=online,lag=0"]) { $1 },
            settings: ["appendfsync": "always", "min-replicas-to-write": "1", "safe": "1"],
            severity: .ok,
            says: "nothing that 1 replica confirmed (WAIT)"
        ),
        Row(
            check: .durability,
            info: aof.merging(["slave0": "state=online,lag=0"]) { $1 },
            settings: ["appendfsync": "everysec", "safe": "1"],
            severity: .warn,
            says: "does not keep"
        ),
        Row(
            check: .durability,
            info: aof,
            settings: ["appendfsync": "always", "safe": "1"],
            severity: .fail,
            says: "0 online: nothing is sent"
        ),
        Row(check: .durability, info: ["aof_enabled": "0"], severity: .warn, says: "can lose every job"),
    ])
    func durabilityChecksGiveTheSeverityOfEachSetting(row: Row) async throws {
        let finding = try #require(try await examine(row.check, info: row.info, settings: row.settings).last)
        #expect(finding.severity == row.severity, "\(finding.line)")
        #expect(finding.text.contains(row.says), "\(finding.line)")
        #expect((finding.remedy == nil) == (row.severity == .ok), "\(finding.line)")
    }

    @Test(arguments: [
        (0, 1, Finding.Severity.ok), (-900, 1, .ok), (1_400, 500, .ok), (1_600, 500, .warn), (-5_000, 1, .warn),
        (70_000, 1, .fail), (Int64.min, 0, .fail),
    ])
    func clockCheckAllowsASecondOfSkew(skewMs: Int64, errorMs: Int64, severity: Finding.Severity) async throws {
        let findings = try await examine(.clock) { ($0.skewMs, $0.skewErrorMs) = (skewMs, errorMs) }
        #expect(findings.map(\.severity) == [severity])
    }

    @Test(arguments: [
        (RedisFacts.Functions.same, Finding.Severity.ok), (.different, .warn), (.missing, .warn),
        (.unknown("NOPERM"), .warn),
    ])
    func functionsCheckWarnsUnlessTheLibraryIsTheSame(functions: RedisFacts.Functions, severity: Finding.Severity)
        async throws
    {
        let findings = try await examine(.functions) { $0.functions = functions }
        #expect(findings.map(\.severity) == [severity])
    }

    @Test func libraryIsComparedByItsCode() {
        func bulk(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }
        let list = RedisValue.array([
            .array([
                bulk("library_name"), bulk("fanfare_v3"), bulk("functions"), .array([]), bulk("library_code"),
                bulk("x"),
            ])
        ])
        #expect(RedisFacts.functions(list, source: Array("x".utf8)) == .same)
        #expect(RedisFacts.functions(list, source: Array("y".utf8)) == .different)
        #expect(RedisFacts.functions(.array([]), source: []) == .missing)
        for odd in [RedisValue.null, .array([.array([])]), .array([.array([bulk("library_code")])]), .integer(1)] {
            guard case .unknown = RedisFacts.functions(odd, source: []) else {
                // An entry that is no list is no library either.
                #expect(RedisFacts.functions(odd, source: []) == .missing)
                continue
            }
        }
    }

    @Test func infoSkipsCommentsAndBrokenLines() {
        let info = RedisFacts.info("# Server\r\nredis_version:7.0.15\r\nexecutable:/a:b\r\n\r\nbroken\r\n")
        #expect(info == ["redis_version": "7.0.15", "executable": "/a:b"])
        #expect(RedisFacts.info("").isEmpty)
    }

    @Test func everyRedisErrorHasARemedy() async throws {
        let codes: [RedisError.Code] = [
            .connectionLost, .timeout, .noAuth, .wrongPass, .noPerm, .tls, .loading, .misconf, .nameResolution, .busy,
        ]
        for code in codes {
            var subject = try subject()
            subject.redisError = RedisError(code, "x")
            for check in Check.all {
                for finding in await check.examine(subject) where finding.check == "redis" {
                    #expect(finding.severity == .fail && finding.remedy?.isEmpty == false, "\(code)")
                }
            }
        }
    }
}
