import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A Redis that dies, runs out of memory, closes connections, is unreachable or fails over to its replica.
@Suite struct RedisChaos {
    /// The product's default. No worker dies here, and none may be declared dead because Redis was down.
    private static let leaseMs = 10_000

    @Test(arguments: ChaosScale.isLong ? ["always", "everysec"] : ["always"])
    func redisKilled(fsync: String) async throws {
        let rounds = ChaosScale.rounds(short: 3, longShare: 0.5)
        let redis = try RedisServer(config: ["--appendfsync", fsync])
        let (_, audit) = try await chaos(
            "redisKilled \(fsync)",
            rounds: rounds,
            part: 700,
            leaseMs: Self.leaseMs,
            redis: redis
        ) { run, _ in
            redis.kill9()
            try await Task.sleep(for: .seconds(run.draw(0...1)))
            try redis.restart()
            run.disturbances += 1
            try await run.measureRecovery(since: .now)
        }
        if fsync == "always" { #expect(audit.duplicates == 0, "Redis lost a confirmed write") }
    }

    @Test func redisOutOfMemory() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        let (_, audit) = try await chaos(
            "redisOutOfMemory",
            rounds: rounds,
            part: 900,
            leaseMs: Self.leaseMs
        ) { run, _ in
            try run.rig.redis.cli("CONFIG", "SET", "maxmemory", "1mb")
            try await Task.sleep(for: .seconds(run.draw(1...2)))
            try run.rig.redis.cli("CONFIG", "SET", "maxmemory", "0")
            run.disturbances += 1
            try await run.measureRecovery(since: .now)
        }
        #expect(audit.duplicates == 0)
    }

    @Test func redisHangsUp() async throws {
        let rounds = ChaosScale.rounds(short: 8)
        let (_, audit) = try await chaos(
            "redisHangsUp",
            rounds: rounds,
            part: 300,
            leaseMs: Self.leaseMs
        ) { run, _ in
            try run.rig.redis.cli("CLIENT", "KILL", "TYPE", "normal")
            run.disturbances += 1
            try await run.measureRecovery(since: .now)
        }
        #expect(audit.duplicates == 0)
    }

    /// Half-open connections, replies lost after the write, resets, and high latency.
    @Test func redisOutOfReach() async throws {
        let rounds = ChaosScale.rounds(short: 5, longShare: 0.4)
        let redis = try RedisServer(port: .plain)
        let proxy = try ChaosProxy(upstream: redis.port)
        defer { proxy.stop() }
        let (run, audit) = try await chaos(
            "redisOutOfReach",
            rounds: rounds,
            part: 500,
            leaseMs: Self.leaseMs,
            redis: redis,
            redisURL: "redis://127.0.0.1:\(proxy.port)"
        ) { run, round in
            switch round % 5 {
            case 1: proxy.swallow(.toClient)
            case 2: proxy.reset()
            case 3: proxy.swallow(.toServer)
            case 4: proxy.delay(milliseconds: 60)
            default: proxy.speakGarbage()
            }
            try await Task.sleep(for: .seconds(run.draw(0.3...2.5)))
            proxy.heal()
            run.disturbances += 1
            try await run.measureRecovery(since: .now)
        }
        // A half-open connection is detected by a timeout. With the pause before the next attempt, a worker may be
        // disconnected for longer than its lease.
        #expect(audit.duplicates <= rounds * run.maximumInFlight)
    }

    /// The primary dies, and its replica is promoted behind the same address.
    @Test func redisFailsOver() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        let primary = try RedisServer(port: .plain, config: ["--repl-diskless-sync-delay", "0"])
        let proxy = try ChaosProxy(upstream: primary.port)
        defer { proxy.stop() }
        var servers = [primary, try follower(of: primary)]
        let (_, audit) = try await chaos(
            "redisFailsOver",
            rounds: rounds,
            part: 1_000,
            leaseMs: Self.leaseMs,
            redis: primary,
            redisURL: "redis://127.0.0.1:\(proxy.port)"
        ) { run, _ in
            // Replication is asynchronous. A producer that must not lose a job waits for the replica.
            _ = try await run.rig.client.send(RedisCommand("WAIT", "1", "5000"))
            servers.removeFirst().kill9()
            let died = ContinuousClock.now
            try await Task.sleep(for: .seconds(run.draw(0...1)))
            try servers[0].cli("REPLICAOF", "NO", "ONE")
            proxy.switchUpstream(to: servers[0].port)
            try await run.rig.connect(to: servers[0])
            run.disturbances += 1
            try await run.measureRecovery(since: died)
            servers.append(try follower(of: servers[0]))
        }
        #expect(audit.duplicates == 0, "an up-to-date replica has its primary's state")
    }

    /// The replica was behind, so half a second of confirmed writes is lost. Every recipient still has one result.
    /// Recipients sent to in that time may be sent to again, perhaps without a flag.
    /// This also holds if the failover takes longer than a worker keeps results: their age counts only connected time.
    @Test(arguments: [0, 5])
    func redisFailsOverLate(awaySeconds: Int) async throws {
        let name = "redisFailsOverLate \(awaySeconds) s"
        let audit = try await failOverLate(name, durability: "fast", awaySeconds: awaySeconds)
        #expect(audit.lost == 0)
        // Workers without a replay buffer would send about 200 recipients a round again.
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.2)
        #expect(audit.duplicates < 50 * rounds, "workers replay the writes that the replica lost")
    }

    /// With the safe profile a send waits until the replica has confirmed the writes that it depends on.
    @Test func redisFailsOverLateAndSafe() async throws {
        let audit = try await failOverLate("redisFailsOverLateAndSafe", durability: "safe")
        #expect(audit.duplicates == 0)
    }

    private func failOverLate(_ name: String, durability: String, awaySeconds: Int = 0) async throws -> ChaosAudit {
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.2)
        let primary = try RedisServer(port: .plain, config: ["--repl-diskless-sync-delay", "0"])
        let proxy = try ChaosProxy(upstream: primary.port)
        let replication = try ChaosProxy(upstream: primary.port)
        defer {
            proxy.stop()
            replication.stop()
        }
        var servers = [primary, try follower(of: primary, through: replication)]
        let (_, audit) = try await chaos(
            name,
            rounds: rounds,
            part: 1_500,
            leaseMs: Self.leaseMs,
            redis: primary,
            redisURL: "redis://127.0.0.1:\(proxy.port)",
            durability: durability,
            isEveryDuplicateFlagged: durability == "safe"
        ) { run, _ in
            replication.swallow(.toClient)
            try await Task.sleep(for: .milliseconds(500))
            servers.removeFirst().kill9()
            let died = ContinuousClock.now
            try await Task.sleep(for: .seconds(awaySeconds))
            try servers[0].cli("REPLICAOF", "NO", "ONE")
            proxy.switchUpstream(to: servers[0].port)
            try await run.rig.connect(to: servers[0])
            run.disturbances += 1
            try await run.measureRecovery(since: died)
            replication.heal()
            replication.switchUpstream(to: servers[0].port)
            servers.append(try follower(of: servers[0], through: replication))
        }
        return audit
    }

    private func follower(of primary: RedisServer, through proxy: ChaosProxy? = nil) throws -> RedisServer {
        let replica = try RedisServer(
            port: .plain,
            config: ["--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", "\(proxy?.port ?? primary.port)"]
        )
        try replica.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        return replica
    }
}
