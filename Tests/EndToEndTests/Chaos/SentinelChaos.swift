import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A Redis that three Sentinels watch over: its primary dies, or is told to step down, while a fleet sends. Workers sign
/// in as the users of `ops/redis/fanfare.acl`.
@Suite struct SentinelChaos {
    @Test func primaryDiesOrStepsDown() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        let users = try RedisUsers()
        let config = ["--repl-diskless-sync-delay", "0", "--aclfile", users.file]
        let first = try RedisServer(port: .plain, config: config)
        let second = try RedisServer(port: .plain, config: config + ["--replicaof", "127.0.0.1", "\(first.port)"])
        let servers = [first, second]
        try second.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        let sentinels = try (0..<3).map { _ in try SentinelServer(watching: first.port, quorum: 2) }
        defer {
            for sentinel in sentinels { sentinel.stop() }
            second.stop()
        }
        try sentinels[0].wait("the Sentinels to know each other and the replica") {
            try sentinels.allSatisfy { sentinel in
                let text = try sentinel.cli("SENTINEL", "MASTER", "main")
                let lines = text.split(separator: "\n")
                func value(_ name: String) -> Substring? {
                    lines.firstIndex { $0 == name }.map { lines[$0 + 1] }
                }
                return value("num-other-sentinels") == "2" && value("num-slaves") == "1"
            }
        }
        let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        func url(_ sign: String) -> String { "redis-sentinel://\(sign)\(hosts)/0?master=main" }
        try await loadFunctions(url("fanfare-deploy:fanfare-deploy@"))
        let (_, audit) = try await chaos(
            "primaryDiesOrStepsDown",
            rounds: rounds,
            part: 1_000,
            leaseMs: 10_000,
            redis: first,
            redisURL: url("fanfare-worker:fanfare-worker@"),
            deployment: try RedisDeployment(url: url(""))
        ) { run, round in
            let port = try #require(sentinels[0].primary)
            let old = try #require(servers.first { $0.port == port })
            let new = try #require(servers.first { $0.port != port })
            let began = ContinuousClock.now
            if round % 2 == 1 { old.kill9() } else { try sentinels[0].cli("SENTINEL", "FAILOVER", "main") }
            try sentinels[0].wait("every Sentinel to name the other server") {
                sentinels.allSatisfy { $0.primary == new.port }
            }
            run.harms += 1
            try await run.recover(since: began)
            if round % 2 == 1 { try old.restart() }
            try old.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        }
        #expect(audit.duplicates == 0, "a replica that kept up knows what its primary knew")
    }
}

/// What a deployment does before its first worker starts: workers may not load functions.
func loadFunctions(_ url: String) async throws {
    let process = try ChildProcess(["functions", "load"], environment: ["FANFARE_REDIS_URL": url])
    let status = try await process.wait(seconds: 30)
    #expect(status == 0, "\(process.stderr)")
}
