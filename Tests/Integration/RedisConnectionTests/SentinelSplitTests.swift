import EventLoop
import Foundation
import StreamWire
import TestSupport
import Testing

@testable import RedisTransport

/// Three real Sentinels, a primary and its replicas, of which the primary is replaced and still answers its clients.
@Suite struct SentinelSplitTests {
    private struct Place {
        let users: TemporaryFolder
        let first: RedisServer
        let second: RedisServer
        let third: RedisServer
        let sentinels: [SentinelServer]

        init() throws {
            users = try TemporaryFolder()
            let file = try users.write("users.acl", SplitServers.users.joined(separator: "\n") + "\n")
            let config = SplitServers.settings + ["--repl-diskless-sync-delay", "0", "--aclfile", file]
            first = try RedisServer(port: .plain, config: config)
            let follows = config + ["--replicaof", "127.0.0.1", "\(first.port)"]
            second = try RedisServer(port: .plain, config: follows)
            third = try RedisServer(port: .plain, config: follows + ["--replica-priority", "0"])
            for replica in [second, third] {
                try replica.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
            }
            let watched = first.port
            sentinels = try (0..<3).map { _ in
                try SentinelServer(
                    watching: watched,
                    quorum: 2,
                    config: SplitServers.sentinels + ["sentinel failover-timeout main 60000"]
                )
            }
            for sentinel in sentinels {
                try sentinel.wait("the Sentinels to know all") {
                    try sentinel.knows("num-other-sentinels") == "2" && sentinel.knows("num-slaves") == "2"
                }
            }
        }

        func connect() async throws -> RedisClient {
            let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
            let deployment = try RedisDeployment(url: "redis-sentinel://\(hosts)/0?master=main")
            return try await RedisClient.connect(deployment, patienceMs: 20_000)
        }

        func awaitFailover() throws {
            for sentinel in sentinels {
                try sentinel.wait("the other server to be named") { sentinel.primary == second.port }
            }
        }

        func stop() {
            for sentinel in sentinels { sentinel.stop() }
            for server in [first, second, third] { server.stop() }
            users.remove()
        }
    }

    /// Whether a client moves to the primary on a port before the failover itself would be over, which takes a minute.
    private func reaches(_ port: UInt16, _ client: RedisClient) async throws -> Bool {
        let start = ContinuousClock.now
        while start.duration(to: .now) < .seconds(45) {
            if try await client.primaries().first?.address == .tcp(host: "127.0.0.1", port: port),
                (try? await client.send(RedisCommand("PING"))) == .status("PONG")
            {
                return true
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// The replicas cannot follow the new primary, so the Sentinel that leads the failover is at its last part for a minute,
    /// in which its `SENTINEL MASTER` still gives the old address.
    @Test func aPrimaryThatIsCutOffIsLeftBeforeItsFailoverIsOver() async throws {
        let place = try Place()
        defer { place.stop() }
        var clients: [RedisClient] = []
        for _ in 0..<4 { clients.append(try await place.connect()) }
        defer { for client in clients { client.close() } }
        try SplitServers.refuseReplicas(place.second)
        try SplitServers.cutOff(place.first)
        try place.awaitFailover()
        for client in clients {
            #expect(try await reaches(place.second.port, client))
        }
        #expect(try place.second.cli("ROLE").hasPrefix("master"))
    }

    /// While it is frozen it takes connections and answers none; thawed, it answers at once, as a primary.
    @Test func aPrimaryThatWasFrozenIsLeftBeforeItThaws() async throws {
        let place = try Place()
        defer { place.stop() }
        let client = try await place.connect()
        defer { client.close() }
        kill(place.first.pid, SIGSTOP)
        try place.awaitFailover()
        #expect(try await reaches(place.second.port, client))
        kill(place.first.pid, SIGCONT)
        #expect(try await client.send(RedisCommand("SET", "key", "value")) == .status("OK"))
        #expect(try place.second.cli("GET", "key") == "value")
    }

    /// One Sentinel is dead and one frozen: the primary that is in use stays, and the third Sentinel alone is believed when it
    /// knows of a later failover only.
    @Test func withoutAMajorityThePrimaryStays() async throws {
        let place = try Place()
        defer { place.stop() }
        let hosts = place.sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        let deployment = try RedisDeployment(url: "redis-sentinel://\(hosts)/0?master=main")
        let states = Locked<[SentinelState]>([])
        place.sentinels[0].stop()
        place.sentinels[1].freeze()
        try runLoop(seconds: 30) { loop in
            let connection = RedisConnection(loop: loop, deployment: deployment, name: "a test", random: { 0.5 })
            connection.onStateChange = { state in
                guard state == .ready else { return }
                loop.schedule(afterMilliseconds: 3_000) {
                    if let state = connection.sentinelState { states.withLock { $0.append(state) } }
                    connection.send(RedisCommand("PING")) { answer in
                        #expect((try? answer.get()) == .status("PONG"))
                        connection.close()
                        connection.onStateChange = { _ in }
                        loop.stop()
                    }
                }
            }
            connection.connect()
        }
        #expect(states.withLock { $0 } == [SentinelState(answering: 1, configured: 3, isConfirmed: false)])
    }
}
