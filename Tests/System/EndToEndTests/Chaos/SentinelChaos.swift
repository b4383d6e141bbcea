import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A Redis watched by three Sentinels loses its primary while a fleet sends. Workers sign in as users of
/// `ops/redis/fanfare.acl`.
@Suite struct SentinelChaos {
    @Test func primaryDies() async throws {
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.1)
        let audit = try await sentinelChaos("sentinelPrimaryDies", rounds: rounds) { servers, sentinels, run in
            servers.old.kill9()
            try sentinels[0].wait("the Sentinels to name the new primary") { Self.allName(servers.new, sentinels) }
        } after: {
            try $0.restart()
        }
        #expect(audit.duplicates == 0, "an up-to-date replica has its primary's state")
    }

    /// A primary that steps down accepts writes for a while after the new one took over, and then loses them. With the
    /// safe profile no send depends on those writes.
    @Test func primaryStepsDown() async throws {
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.1)
        let audit = try await sentinelChaos(
            "sentinelPrimaryStepsDown",
            rounds: rounds,
            durability: "safe"
        ) { servers, sentinels, run in
            #expect(try sentinels[0].cli("SENTINEL", "FAILOVER", "main") == "OK")
            try sentinels[0].wait("the Sentinels to name the new primary") { Self.allName(servers.new, sentinels) }
        } after: { _ in
        }
        #expect(audit.duplicates == 0, "a send preceded the replica's confirmation")
    }

    static func allName(_ server: RedisServer, _ sentinels: [SentinelServer]) -> Bool {
        sentinels.allSatisfy { $0.primary == server.port }
    }

    func sentinelChaos(
        _ name: String,
        rounds: Int,
        part: Int = 1_000,
        workers: Int = 3,
        delivery: String = "at_least_once",
        delayMs: Int = 100,
        durability: String = "fast",
        users rules: [String] = [],
        servers settings: [String] = [],
        sentinels lines: [String] = [],
        hasSecondReplica: Bool = false,
        isEveryDuplicateFlagged: Bool = true,
        disturb: ((old: RedisServer, new: RedisServer), [SentinelServer], ChaosRun) async throws -> Void,
        after: (RedisServer) throws -> Void
    ) async throws -> ChaosAudit {
        let users = try RedisUsers(and: rules)
        let config = ["--repl-diskless-sync-delay", "0", "--aclfile", users.file] + settings
        let first = try RedisServer(port: .plain, config: config)
        let second = try RedisServer(port: .plain, config: config + ["--replicaof", "127.0.0.1", "\(first.port)"])
        // Priority 0: never promoted.
        let bystander = config + ["--replicaof", "127.0.0.1", "\(first.port)", "--replica-priority", "0"]
        let third = try hasSecondReplica ? RedisServer(port: .plain, config: bystander) : nil
        for replica in [second, third].compactMap({ $0 }) { try Self.awaitReplica(replica) }
        let sentinels = try (0..<3).map { _ in try SentinelServer(watching: first.port, quorum: 2, config: lines) }
        defer {
            for sentinel in sentinels { sentinel.stop() }
            second.stop()
            third?.stop()
        }
        try Self.awaitAcquaintance(of: sentinels, replicas: third == nil ? 1 : 2)
        let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        func url(_ sign: String) -> String { "redis-sentinel://\(sign)\(hosts)/0?master=main" }
        try await loadFunctions(url("fanfare-deploy:fanfare-deploy@"))
        let (_, audit) = try await chaos(
            name,
            rounds: rounds,
            part: part,
            workers: workers,
            delivery: delivery,
            leaseMs: 10_000,
            delayMs: delayMs,
            redis: first,
            redisURL: url("fanfare-worker:fanfare-worker@"),
            deployment: try RedisDeployment(url: url("")),
            durability: durability,
            isEveryDuplicateFlagged: isEveryDuplicateFlagged
        ) { run, round in
            let named = try #require(sentinels[0].primary)
            let servers = named == first.port ? (old: first, new: second) : (old: second, new: first)
            let began = ContinuousClock.now
            try await disturb(servers, sentinels, run)
            run.disturbances += 1
            try await run.measureRecovery(since: began)
            guard round < rounds else { return }
            try after(servers.old)
            try Self.awaitReplica(servers.old)
        }
        return audit
    }

    private static func awaitAcquaintance(of sentinels: [SentinelServer], replicas: Int) throws {
        try sentinels[0].wait("the Sentinels to know each other and the replicas") {
            try sentinels.allSatisfy {
                try $0.knows("num-other-sentinels") == "2" && $0.knows("num-slaves") == "\(replicas)"
            }
        }
    }

    private static func awaitReplica(_ server: RedisServer) throws {
        try server.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
    }
}

/// Loads the functions, as a deployment does before its first worker starts: workers may not load them.
func loadFunctions(_ url: String) async throws {
    let process = try ChildProcess(["functions", "load"], environment: ["FANFARE_REDIS_URL": url])
    let status = try await process.wait(seconds: 30)
    #expect(status == 0, "\(process.stderr)")
}
