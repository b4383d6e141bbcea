import Foundation
import RedisTransport
import TestSupport
import Testing

/// A primary that goes on answering workers after another one has taken its place: cut off from its Sentinels and its
/// replica, or frozen for ten seconds. Without the `safe` profile.
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
            // A thread of its own: those of tasks may all be waiting for this server.
            Thread.detachNewThread {
                sleep(10)
                kill(pid, SIGCONT)
            }
        }
    }

    /// - Parameters:
    ///   - downAfterMs: how long the Sentinels wait before they replace the primary.
    ///   - split: what is done to the primary while its workers send.
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
            harm: { servers, sentinels, _ in
                try SplitServers.refuseReplicas(servers.new)
                try split(servers.old)
                try sentinels[0].wait("the other server to be named") { Self.allName(servers.new, sentinels) }
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
