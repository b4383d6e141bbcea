import EventLoop
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A client of a cluster whose nodes redirect it, and of Sentinels that disagree.
@Suite struct RedirectionTests {
    private static let slot = HashSlot(key: "key").number

    private func connect(_ url: String) async throws -> RedisClient {
        try await RedisClient.connect(try RedisDeployment(url: url), patienceMs: 20_000)
    }

    @Test func movedIsFollowedToTheNodeThatItNames() async throws {
        let right = try RedisPeer { _ in "+right" }
        let port = right.port
        let own = Locked<UInt16>(0)
        let wrong = try RedisPeer { command in
            command == ["CLUSTER", "SLOTS"]
                ? RedisPeer.map(own.withLock { $0 }) : "-MOVED \(Self.slot) 127.0.0.1:\(port)"
        }
        own.withLock { $0 = wrong.port }
        defer {
            right.stop()
            wrong.stop()
        }
        let client = try await connect("redis-cluster://127.0.0.1:\(wrong.port)")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("right"))
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("right"))
        #expect(right.commands == [["GET", "key"], ["GET", "key"]])
        #expect(wrong.commands.filter { $0.first == "GET" }.count == 1, "the second goes straight there")
    }

    /// Over TLS, far away or on a busy machine, a second is not much.
    @Test func aNodeThatIsSlowIsWaitedFor() async throws {
        let own = Locked<UInt16>(0)
        let node = try RedisPeer { command in
            guard command == ["CLUSTER", "SLOTS"] else { return "+value" }
            Thread.sleep(forTimeInterval: 1.2)
            return RedisPeer.map(own.withLock { $0 })
        }
        own.withLock { $0 = node.port }
        defer { node.stop() }
        let client = try await RedisClient.connect(
            try RedisDeployment(url: "redis-cluster://127.0.0.1:\(node.port)")
        )
        defer { client.close() }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("value"))
    }

    private func failure(_ url: String) async throws -> RedisError? {
        await #expect(throws: RedisError.self) {
            _ = try await RedisClient.connect(try RedisDeployment(url: url), timeouts: .forTests(connectMs: 300))
        }
    }

    @Test func nodeThatNeverGreetsIsNamedInTheError() async throws {
        let silent = try ScriptedPeer { connection, _ in connection.waitForEnd() }
        defer { silent.stop() }
        let error = try await failure("redis-cluster://127.0.0.1:\(silent.port)")
        #expect(error?.message == "node at 127.0.0.1:\(silent.port): timeout: no answer within 270 ms")
    }

    @Test func nodeThatOnlyGreetsIsNamedInTheError() async throws {
        let silent = try RedisPeer { _ in
            Thread.sleep(forTimeInterval: 2)
            return nil
        }
        defer { silent.stop() }
        let error = try await failure("redis-cluster://127.0.0.1:\(silent.port)")
        #expect(error?.message == "node at 127.0.0.1:\(silent.port): timeout: no answer within 270 ms")
    }

    /// What `GET` and the commands after it get from a node that is sent all of them at once, when it refuses the
    /// first.
    private func pipeline(
        _ commands: [RedisCommand],
        answer: @escaping @Sendable ([String]) -> String?
    ) throws -> [Answer] {
        let own = Locked<UInt16>(0)
        let node = try RedisPeer { command in
            command == ["CLUSTER", "SLOTS"] ? RedisPeer.map(own.withLock { $0 }) : answer(command)
        }
        own.withLock { $0 = node.port }
        defer { node.stop() }
        let deployment = try RedisDeployment(url: "redis-cluster://127.0.0.1:\(node.port)")
        let answers = Locked<[Answer]>([])
        try runLoop { loop in
            let connection = RedisConnection(
                loop: loop,
                deployment: deployment,
                key: "key",
                name: "a test",
                random: { 0.5 }
            )
            connection.onStateChange = { state in
                if state == .ready {
                    for command in commands {
                        connection.send(command) { answer in answers.withLock { $0.append(answer) } }
                    }
                } else if state.isUnavailable {
                    connection.onStateChange = { _ in }
                    connection.close()
                    loop.stop()
                }
            }
            connection.connect()
        }
        return answers.withLock { $0 }
    }

    private static let commands = [
        RedisCommand("GET", "key"), RedisCommand("INCR", "key"), RedisCommand("INCR", "key"),
    ]

    /// A redirection of the first command does not concern the commands after it.
    @Test(arguments: ["MOVED \(slot) 127.0.0.1:1", "ASK \(slot) 127.0.0.1:1", "READONLY no"])
    func everyCommandOfAPipelineHasItsOwnAnswer(_ refusal: String) throws {
        let answers = try pipeline(Self.commands) { command in command == ["GET", "key"] ? "-\(refusal)" : "+done" }
        #expect(
            answers == [.failure(RedisError(reply: refusal)), .success(.status("done")), .success(.status("done"))]
        )
    }

    @Test func onlyUnansweredCommandsAreInDoubt() throws {
        let answers = try pipeline(Self.commands) { command in
            command == ["GET", "key"] ? "-MOVED \(Self.slot) 127.0.0.1:1" : nil
        }
        #expect(answers.map { $0.error?.code } == [.moved, .connectionLost, .connectionLost])
        #expect(answers.map { $0.error?.maybeApplied } == [false, true, true])
    }

    @Test func askIsFollowedForOneKeyAndOnce() async throws {
        let target = try RedisPeer { command in command == ["ASKING"] ? "+OK" : "+target" }
        let (port, own, asks) = (target.port, Locked<UInt16>(0), Locked(1))
        let source = try RedisPeer { command in
            if command == ["CLUSTER", "SLOTS"] { return RedisPeer.map(own.withLock { $0 }) }
            let isAsked = asks.withLock { left in
                defer { left -= 1 }
                return left > 0
            }
            return isAsked ? "-ASK \(Self.slot) 127.0.0.1:\(port)" : "+source"
        }
        own.withLock { $0 = source.port }
        defer {
            source.stop()
            target.stop()
        }
        let client = try await connect("redis-cluster://127.0.0.1:\(source.port)")
        defer { client.close() }
        asks.withLock { $0 = 1_000 }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("target"))
        #expect(target.commands == [["ASKING"], ["GET", "key"]])
        asks.withLock { $0 = 0 }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("source"))
    }

    /// A function may touch keys that are still on the other node.
    @Test func askIsNotFollowedForAFunction() async throws {
        let target = try RedisPeer { _ in "+target" }
        let (port, own, asks) = (target.port, Locked<UInt16>(0), Locked(2))
        let source = try RedisPeer { command in
            if command == ["CLUSTER", "SLOTS"] { return RedisPeer.map(own.withLock { $0 }) }
            let isAsked = asks.withLock { left in
                defer { left -= 1 }
                return left > 0
            }
            return isAsked ? "-ASK \(Self.slot) 127.0.0.1:\(port)" : "+source"
        }
        own.withLock { $0 = source.port }
        defer {
            source.stop()
            target.stop()
        }
        let client = try await connect("redis-cluster://127.0.0.1:\(source.port)")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("FCALL", "f", "1", "key")) == .status("source"))
        #expect(target.commands == [])
    }

    @Test(arguments: ["TRYAGAIN some keys are elsewhere", "CLUSTERDOWN The cluster is down", "LOADING reading"])
    func transientErrorIsRetried(_ line: String) async throws {
        let (own, refusals) = (Locked<UInt16>(0), Locked(2))
        let node = try RedisPeer { command in
            if command == ["CLUSTER", "SLOTS"] { return RedisPeer.map(own.withLock { $0 }) }
            let isRefused = refusals.withLock { left in
                defer { left -= 1 }
                return left > 0
            }
            return isRefused ? "-\(line)" : "+done"
        }
        own.withLock { $0 = node.port }
        defer { node.stop() }
        let client = try await connect("redis-cluster://127.0.0.1:\(node.port)")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("done"))
    }

    @Test func permanentErrorIsNotRetried() async throws {
        let own = Locked<UInt16>(0)
        let node = try RedisPeer { command in
            command == ["CLUSTER", "SLOTS"] ? RedisPeer.map(own.withLock { $0 }) : "-NOPERM no"
        }
        own.withLock { $0 = node.port }
        defer { node.stop() }
        let client = try await connect("redis-cluster://127.0.0.1:\(node.port)")
        defer { client.close() }
        let error = await #expect(throws: RedisError.self) { _ = try await client.send(RedisCommand("GET", "key")) }
        #expect(error?.code == .noPerm)
        #expect(node.commands.filter { $0.first == "GET" }.count == 1)
    }

    /// Of three Sentinels one was cut off before the failover, and the server that it names has become a replica.
    @Test func sentinelWithTheLatestConfigurationIsChosen() async throws {
        let primary = try RedisPeer { command in command == ["ROLE"] ? "*1\r\n$6\r\nmaster" : "+primary" }
        let replica = try RedisPeer { command in command == ["ROLE"] ? "*1\r\n$5\r\nslave" : "+replica" }
        func sentinel(_ port: UInt16, _ epoch: String) throws -> RedisPeer {
            try RedisPeer { _ in RedisPeer.array(["ip", "127.0.0.1", "port", "\(port)", "config-epoch", epoch]) }
        }
        let sentinels = [
            try sentinel(replica.port, "1"), try sentinel(primary.port, "2"), try sentinel(primary.port, "2"),
        ]
        defer { for peer in sentinels + [primary, replica] { peer.stop() } }
        let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        let client = try await connect("redis-sentinel://\(hosts)?master=main")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("primary"))
        #expect(sentinels[0].commands.first == ["SENTINEL", "MASTER", "main"])
        #expect(replica.commands == [])
    }

    /// The only Sentinel is out of date: its server is no primary, so nothing is written there, and it is asked again.
    @Test func aReplicaIsLeftAlone() async throws {
        let primary = try RedisPeer { command in command == ["ROLE"] ? "*1\r\n$6\r\nmaster" : "+primary" }
        let asked = Locked(0)
        let replica = try RedisPeer { command in command == ["ROLE"] ? "*1\r\n$5\r\nslave" : "+replica" }
        let (old, new) = (replica.port, primary.port)
        let sentinel = try RedisPeer { _ in
            let times = asked.withLock { times in
                times += 1
                return times
            }
            return RedisPeer.array(["ip", "127.0.0.1", "port", "\(times < 3 ? old : new)", "config-epoch", "1"])
        }
        defer { for peer in [sentinel, primary, replica] { peer.stop() } }
        let client = try await connect("redis-sentinel://127.0.0.1:\(sentinel.port)")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("GET", "key")) == .status("primary"))
        #expect(replica.commands.allSatisfy { $0 == ["ROLE"] })
    }

    @Test func readOnlySendsBackToTheSentinels() async throws {
        let new = try RedisPeer { command in command == ["ROLE"] ? "*1\r\n$6\r\nmaster" : "+new" }
        // It has not noticed yet that it was demoted when it is asked for its role.
        let old = try RedisPeer { command in
            command == ["ROLE"] ? "*1\r\n$6\r\nmaster" : "-READONLY You can't write against a read only replica."
        }
        let asked = Locked(0)
        let (first, second) = (old.port, new.port)
        let sentinel = try RedisPeer { _ in
            let times = asked.withLock { times in
                times += 1
                return times
            }
            return RedisPeer.array(["ip", "127.0.0.1", "port", "\(times < 2 ? first : second)", "config-epoch", "1"])
        }
        defer { for peer in [sentinel, new, old] { peer.stop() } }
        let client = try await connect("redis-sentinel://127.0.0.1:\(sentinel.port)")
        defer { client.close() }
        #expect(try await client.send(RedisCommand("SET", "key", "x")) == .status("new"))
    }
}
