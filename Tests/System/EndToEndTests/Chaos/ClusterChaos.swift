import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Failures of a cluster of three primaries with one replica each. Workers sign in as users of `ops/redis/fanfare.acl`.
@Suite struct ClusterChaos {
    @Test func primaryDies() async throws {
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.1)
        let audit = try await clusterChaos("clusterPrimaryDies", rounds: rounds) { cluster, run, round in
            let project = ChaosRun.projects[round % ChaosRun.projects.count]
            let slot = HashSlot(key: ProjectKeys(project: project).base)
            let old = try cluster.primary(of: slot)
            let began = ContinuousClock.now
            old.kill9()
            try await Wait.until("a replica to take over", seconds: 60) {
                (try? cluster.primary(of: slot)).map { $0 !== old } ?? false
            }
            run.disturbances += 1
            try await run.measureRecovery(since: began)
            guard round < rounds else { return }
            try old.restart()
            try old.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        }
        #expect(audit.duplicates == 0, "an up-to-date replica has its primary's state")
    }

    /// Part of a project's keys moves to another primary, and later the rest. In between, its functions must run on
    /// neither primary; afterwards they run on the new one.
    @Test func slotMoves() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.2)
        let audit = try await clusterChaos("clusterSlotMoves", rounds: rounds) { cluster, run, round in
            let project = ChaosRun.projects[round % ChaosRun.projects.count]
            let slot = HashSlot(key: ProjectKeys(project: project).base)
            let source = try cluster.primary(of: slot)
            // The target has no keys of Fanfare in odd rounds, and the other project's keys in even rounds.
            let other = HashSlot(key: ProjectKeys(project: ChaosRun.projects[(round + 1) % 2]).base)
            let places = (round % 2 == 0 ? [other] : []) + [8_000, 2_000, 14_000].compactMap { HashSlot($0) }
            let target = try #require(try places.map { try cluster.primary(of: $0) }.first { $0 !== source })
            let began = ContinuousClock.now
            try cluster.beginMove(of: slot, from: source, to: target)
            try cluster.moveKeys(of: slot, from: source, to: target, limit: 5)
            // Workers that call a function on the half-moved slot get ASK and must wait.
            try await Wait.until("an ASK redirection in every worker's log\n\(run.rig.logs)") {
                run.fleet.allSatisfy { $0.process.stderr.contains("ASK \(slot.number) ") }
            }
            // A command on one key need not wait: Redis creates a new key on the target.
            let key = "new:{\(project)}:\(round)"
            _ = try await run.rig.client.send(RedisCommand("SET", key, "here"))
            #expect(try source.cli("CLUSTER", "COUNTKEYSINSLOT", "\(slot.number)") != "0", "the slot is half moved")
            while try cluster.moveKeys(of: slot, from: source, to: target, limit: 100) > 0 {}
            try cluster.endMove(of: slot, from: source, to: target)
            run.disturbances += 1
            #expect(try target.cli("GET", key) == "here")
            try await run.measureRecovery(since: began)
        }
        #expect(audit.duplicates == 0, "a moved slot loses no state")
    }

    private func clusterChaos(
        _ name: String,
        rounds: Int,
        disturb: (RedisCluster, ChaosRun, Int) async throws -> Void
    ) async throws -> ChaosAudit {
        let users = try RedisUsers()
        let cluster = try RedisCluster(config: ["--aclfile", users.file])
        defer { cluster.stop() }
        let slots = ChaosRun.projects.map { HashSlot(key: ProjectKeys(project: $0).base) }
        let owners = try slots.map { try cluster.primary(of: $0) }
        #expect(owners[0] !== owners[1], "the projects are on different shards")
        try await loadFunctions("redis-cluster://fanfare-deploy:fanfare-deploy@\(cluster.seeds)")
        let (_, audit) = try await chaos(
            name,
            rounds: rounds,
            part: 700,
            leaseMs: 10_000,
            redis: cluster.nodes[0],
            redisURL: "redis-cluster://fanfare-worker:fanfare-worker@\(cluster.seeds)",
            deployment: try RedisDeployment(url: "redis-cluster://\(cluster.seeds)")
        ) { run, round in
            try await disturb(cluster, run, round)
        }
        return audit
    }
}
