internal import FanfareConfiguration
internal import FanfareJSON
internal import RedisTransport

/// The state of Redis for the dashboard: facts, and the verdicts of the doctor's checks of the server.
enum RedisReport {
    private static let checks: [Check] = [
        .redisVersion, .redisRole, .functions, .persistence, .durability, .evictionPolicy, .memory, .replicas, .clock,
    ]
    private static let names = [
        "redis_version", "valkey_version", "role", "uptime_in_seconds", "used_memory", "maxmemory", "maxmemory_policy",
        "aof_enabled", "rdb_last_save_time", "connected_slaves", "connected_clients", "instantaneous_ops_per_sec",
        "evicted_keys", "rejected_connections",
    ]

    /// `servers` with their facts, of a cluster one a primary, and `checks`; or `refused`, if this user may not read INFO.
    static func object(_ configuration: Configuration, _ deployment: RedisDeployment) async throws -> JSONObject {
        let client = try await RedisSession.connect(deployment, configuration)
        defer { client.close() }
        let probe = RedisProbe(client: client, isCluster: deployment.form == .cluster, configuration: configuration)
        var subject = Check.Subject(configuration: configuration, deployment: deployment)
        do throws(RedisError) {
            subject.redis = try await probe.serverFacts()
        } catch {
            guard error.code == .noPerm else { throw error }
            return ["refused": .string("\(error)")]
        }
        guard let facts = subject.redis else { return [:] }
        var findings: [Finding] = []
        for check in checks { findings += await check.examine(subject) }
        let servers = facts.primaries.isEmpty ? [("\(deployment)", facts)] : facts.primaries.map { ($0.name, $0.facts) }
        return [
            "servers": .array(servers.map { .object(object($0.0, $0.1)) }),
            "checks": .array(findings.map { .object($0.json) }),
        ]
    }

    private static func object(_ name: String, _ facts: RedisFacts) -> JSONObject {
        var object: JSONObject = ["name": .string(name)]
        for name in names {
            if let number = facts.number(name) {
                object[name] = .number(JSONNumber(number))
            } else {
                object[name] = facts.info[name].map { .string($0) }
            }
        }
        object["appendfsync"] = facts.appendFsync.map { .string($0) }
        return object
    }
}
