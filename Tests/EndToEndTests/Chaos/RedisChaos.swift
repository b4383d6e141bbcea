import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A Redis that dies, is full, hangs up, cannot be reached or hands over to its replica.
@Suite(.serialized) struct RedisChaos {
    @Test(arguments: ChaosScale.isLong ? ["always", "everysec"] : ["always"])
    func redisKilled(fsync: String) async throws {
        let rounds = ChaosScale.rounds(short: 3, longShare: 0.5)
        let redis = try RedisServer(config: ["--appendfsync", fsync])
        let (_, audit) = try await chaos("redisKilled \(fsync)", recipients: rounds * 700, redis: redis) { run in
            for round in 1...rounds {
                try await run.reach(round, of: rounds)
                redis.kill9()
                try await Task.sleep(for: .seconds(run.draw(0...1)))
                try redis.restart()
                run.harms += 1
                try await run.recover(since: .now)
            }
        }
        if fsync == "always" { #expect(audit.duplicates == 0, "what Redis said is what it still knows") }
    }

    @Test func redisOutOfMemory() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        let (_, audit) = try await chaos("redisOutOfMemory", recipients: rounds * 900) { run in
            for round in 1...rounds {
                try await run.reach(round, of: rounds)
                try run.rig.redis.cli("CONFIG", "SET", "maxmemory", "1mb")
                try await Task.sleep(for: .seconds(run.draw(1...2)))
                try run.rig.redis.cli("CONFIG", "SET", "maxmemory", "0")
                run.harms += 1
                try await run.recover(since: .now)
            }
        }
        #expect(audit.duplicates == 0)
    }

    @Test func redisHangsUp() async throws {
        let rounds = ChaosScale.rounds(short: 8)
        let (_, audit) = try await chaos("redisHangsUp", recipients: rounds * 300) { run in
            for round in 1...rounds {
                try await run.reach(round, of: rounds)
                try run.rig.redis.cli("CLIENT", "KILL", "TYPE", "normal")
                run.harms += 1
                try await run.recover(since: .now)
            }
        }
        #expect(audit.duplicates == 0)
    }

    /// Half-open paths, replies that are lost after the write, resets, and a Redis that is far away.
    @Test func redisOutOfReach() async throws {
        let rounds = ChaosScale.rounds(short: 5, longShare: 0.4)
        let redis = try RedisServer(port: .plain)
        let proxy = try ChaosProxy(upstream: redis.port)
        defer { proxy.stop() }
        let (run, audit) = try await chaos(
            "redisOutOfReach",
            recipients: rounds * 500,
            redis: redis,
            redisURL: "redis://127.0.0.1:\(proxy.port)"
        ) { run in
            for round in 1...rounds {
                try await run.reach(round, of: rounds)
                switch round % 5 {
                case 1: proxy.swallow(.toClient)
                case 2: proxy.reset()
                case 3: proxy.swallow(.toServer)
                case 4: proxy.delay(milliseconds: 60)
                default: proxy.speakGarbage()
                }
                try await Task.sleep(for: .seconds(run.draw(0.3...2.5)))
                proxy.heal()
                run.harms += 1
                try await run.recover(since: .now)
            }
        }
        // Past its lease a worker may be declared dead by one that could renew again a moment earlier.
        #expect(audit.duplicates <= rounds * run.mostInFlight * run.fleet.count)
    }

    /// The primary dies and its replica is promoted behind an address that stays the same.
    @Test func redisFailsOver() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        var primary = try RedisServer(port: .plain)
        let proxy = try ChaosProxy(upstream: primary.port)
        defer { proxy.stop() }
        let (_, audit) = try await chaos(
            "redisFailsOver",
            recipients: rounds * 1_000,
            redis: primary,
            redisURL: "redis://127.0.0.1:\(proxy.port)"
        ) { run in
            for round in 1...rounds {
                let replica = try RedisServer(
                    port: .plain,
                    config: ["--replicaof", "127.0.0.1", "\(primary.port)"]
                )
                try replica.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
                try await run.reach(round, of: rounds)
                primary.kill9()
                let died = ContinuousClock.now
                try await Task.sleep(for: .seconds(run.draw(0...1)))
                try replica.cli("REPLICAOF", "NO", "ONE")
                proxy.switchUpstream(to: replica.port)
                primary = replica
                try await run.rig.look(at: replica)
                run.harms += 1
                try await run.recover(since: died)
            }
        }
        #expect(audit.duplicates == 0, "a replica that kept up knows what its primary knew")
    }
}
