import Foundation
import RedisTransport
import TestSupport
import Testing

/// Split brain without the `safe` profile: the old primary still answers workers after the failover. It is cut off from
/// its Sentinels and its replica, or frozen for ten seconds.
extension SentinelChaos {
    @Test func primaryIsCutOff() async throws {
        try await splitChaos("sentinelPrimaryIsCutOff") { old in
            try SplitServers.cutOff(old)
        }
    }

    @Test func primaryIsCutOffAtMostOnce() async throws {
        try await splitChaos("sentinelPrimaryIsCutOffAtMostOnce", delivery: "at_most_once") { old in
            try SplitServers.cutOff(old)
        }
    }

    @Test func primaryFreezes() async throws {
        try await splitChaos("sentinelPrimaryFreezes", downAfterMs: 5_500) { old in
            let pid = old.pid
            kill(pid, SIGSTOP)
            // A separate thread, because the threads of tasks may all wait for this server.
            Thread.detachNewThread {
                sleep(10)
                kill(pid, SIGCONT)
            }
        }
    }

    /// - Parameters:
    ///   - downAfterMs: how long the primary is unreachable before the Sentinels replace it.
    ///   - split: cuts off or freezes the primary while its workers send.
    private func splitChaos(
        _ name: String,
        delivery: String = "at_least_once",
        downAfterMs: Int = 4_000,
        split: (RedisServer) throws -> Void
    ) async throws {
        _ = try await sentinelChaos(
            name,
            rounds: 1,
            part: 10_000,
            delivery: delivery,
            delayMs: 500,
            users: SplitServers.users,
            servers: SplitServers.settings,
            sentinels: SplitServers.sentinels + [
                "sentinel down-after-milliseconds main \(downAfterMs)", "sentinel failover-timeout main 30000",
            ],
            hasSecondReplica: true,
            disturb: { servers, sentinels, _ in
                try SplitServers.refuseReplicas(servers.new)
                try split(servers.old)
                try sentinels[0].wait("the Sentinels to name the new primary") { Self.allName(servers.new, sentinels) }
                let named = ContinuousClock.now
                try await Wait.until("the workers to leave the old primary", seconds: 60, everyMs: 50) {
                    let clients = try SplitServers.clients(of: servers.old)
                    return !clients.contains("name=fanfare-worker") && !clients.contains("name=fanfare-reader")
                }
                print("\(name): the last worker left \(named.duration(to: .now)) after the switch")
            },
            after: { _ in }
        )
    }
}
