import EventLoop
import Glibc
import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct RealServerTests {
    @Test func pipelinesManyCommandsInOneTurnAndKeepsTheirOrder() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let probe = ConnectionProbe()
        // Replies and commands far beyond what a socket buffer takes: writes are partial, reads are split.
        let payload = String(repeating: "x", count: 20_000)
        let commands = (0..<500).map { RedisCommand("ECHO", "\($0)-\(payload)") }
        try probe.exchange(server.endpoint, commands)
        #expect(probe.answers.map { $0.value?.string } == (0..<500).map { "\($0)-\(payload)" })
    }

    @Test func commandsWrittenNowArriveWhileTheTurnLasts() throws {
        let peer = try RedisPeer { _ in "+OK" }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let arrived = Locked(0)
        try probe.run(try RedisEndpoint(url: "redis://127.0.0.1:\(peer.port)")) { connection, state, finish in
            guard state == .ready else { return }
            connection.send(RedisCommand("ECHO", "a")) { _ in }
            connection.send(RedisCommand("ECHO", String(repeating: "b", count: 20_000))) { _ in finish() }
            connection.writeNow()
            for _ in 0..<20_000 where peer.commands.count < 2 { usleep(1_000) }
            arrived.withLock { $0 = peer.commands.count }
        }
        #expect(arrived.withLock { $0 } == 2)
    }

    @Test func binaryWordsSurvive() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let probe = ConnectionProbe()
        let bytes = (0...255).map { UInt8($0) } + [13, 10, 0]
        var command = RedisCommand("ECHO")
        command.append(bytes)
        var empty = RedisCommand("ECHO")
        empty.append([UInt8]())
        try probe.exchange(server.endpoint, [command, empty, RedisCommand("")])
        #expect(probe.answers[0].value == .bulk(bytes))
        #expect(probe.answers[1].value == .bulk([]))
        #expect(probe.answers[2].error?.code == .server)
    }

    @Test func signsInSelectsAndSetsItsName() throws {
        let users = ["--user", "worker", "on", ">p@ss:w/rd", "~*", "+@all", "--user", "default", "off"]
        let server = try RedisServer(port: .plain, config: users, waitUntilReady: false)
        defer { server.stop() }
        let probe = ConnectionProbe()
        let endpoint = try RedisEndpoint(url: "redis://worker:p%40ss%3Aw%2Frd@127.0.0.1:\(server.port)/3")
        try probe.exchange(endpoint, [RedisCommand("ACL", "WHOAMI"), RedisCommand("CLIENT", "INFO")])
        #expect(probe.answers[0].value?.string == "worker")
        let info = try #require(probe.answers[1].value?.string)
        #expect(info.contains("db=3"))
        #expect(info.contains("name=a-test"))
    }

    @Test func serverThatRefusesClientCommandsIsUsedWithoutAName() throws {
        let server = try RedisServer(config: ["--rename-command", "CLIENT", ""])
        defer { server.stop() }
        let probe = ConnectionProbe()
        try probe.exchange(server.endpoint, [RedisCommand("ECHO", "x")])
        #expect(probe.answers[0].value?.string == "x")
    }

    @Test func looksUpNamesOffTheLoop() throws {
        let server = try RedisServer(port: .plain)
        defer { server.stop() }
        let probe = ConnectionProbe()
        try probe.exchange(try RedisEndpoint(url: "redis://localhost:\(server.port)"), [RedisCommand("PING")])
        #expect(probe.answers[0].value == .status("PONG"))
    }

    @Test(arguments: [
        ("redis://127.0.0.1:PORT", RedisError.Code.noAuth),
        ("redis://:wrong@127.0.0.1:PORT", .wrongPass),
        ("redis://worker:right@127.0.0.1:PORT", .noPerm),
        ("redis://:right@127.0.0.1:PORT/99", .server),
    ])
    func wrongCredentialsAreAFailureWithItsName(_ url: String, _ code: RedisError.Code) throws {
        let config = [
            "--requirepass", "right", "--user", "worker", "on", ">right", "~*", "-@all", "+client|setname", "+auth",
        ]
        let server = try RedisServer(port: .plain, config: config, waitUntilReady: false)
        defer { server.stop() }
        let probe = ConnectionProbe()
        let endpoint = try RedisEndpoint(url: url.replacing("PORT", with: "\(server.port)"))
        try probe.run(endpoint) { _, state, finish in
            if state != .connecting { finish() }
        }
        let state = try #require(probe.states.dropFirst().first)
        #expect(state.isFailed)
        #expect(state.error?.code == code)
        #expect(state.error.map { "\($0)".contains("right") } == false)
    }

    @Test func namedErrorsLeaveTheConnectionReady() throws {
        let server = try RedisServer(config: ["--maxmemory", "1mb"])
        defer { server.stop() }
        let probe = ConnectionProbe()
        try probe.exchange(
            server.endpoint,
            [
                RedisCommand("EVALSHA", String(repeating: "0", count: 40), "0"),
                RedisCommand("FCALL", "nothing", "0"),
                RedisCommand("SET", "key", String(repeating: "x", count: 2_000_000)),
                RedisCommand("SET", "other", "value"),
                RedisCommand("XREADGROUP", "GROUP", "g", "c", "STREAMS", "none", ">"),
                RedisCommand("NONSENSE"),
                RedisCommand("PING"),
            ]
        )
        let codes = probe.answers.map { $0.error?.code }
        #expect(codes[0] == RedisError.Code(rawValue: "NOSCRIPT"))
        #expect(codes[1] == .functionNotFound)
        #expect(codes[3] == .outOfMemory)
        #expect(codes[4] == .noGroup)
        #expect(codes[5] == .server)
        #expect(probe.answers[6].value == .status("PONG"))
        #expect(probe.states.dropLast() == [.connecting, .ready])
    }

    @Test func readOnlyEndsTheConnectionSoThatItReconnects() throws {
        let primary = try RedisServer(port: .plain)
        defer { primary.stop() }
        let replica = try RedisServer(port: .plain, config: ["--replicaof", "127.0.0.1 \(primary.port)"])
        defer { replica.stop() }
        let probe = ConnectionProbe()
        try probe.run(replica.endpoint, timeouts: .forTests()) { [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            if record.withLock({ $0.states.filter { $0 == .ready }.count }) == 2 { return finish() }
            for command in [RedisCommand("SET", "key", "value"), RedisCommand("PING")] {
                connection.send(command) { answer in record.withLock { $0.answers.append(answer) } }
            }
        }
        #expect(probe.answers.map { $0.error?.code } == [.readOnly, nil], "what was sent after it is answered")
        #expect(probe.states[2].error?.code == .readOnly)
    }

    @Test func aLoadingServerIsUnavailableUntilItHasLoaded() throws {
        let server = try RedisServer(config: [
            "--key-load-delay", "300", "--loading-process-events-interval-bytes", "1024",
        ])
        defer { server.stop() }
        try server.cli("DEBUG", "POPULATE", "6000")
        try server.cli("BGREWRITEAOF")
        try server.waitFor { try $0.cli("INFO", "persistence").contains("aof_rewrite_in_progress:0") }
        try server.restart(waitUntilReady: false)
        let probe = ConnectionProbe()
        try probe.run(server.endpoint, timeouts: .forTests()) { _, state, finish in
            if state == .ready { finish() }
        }
        #expect(probe.states.contains { $0.error?.code == .loading })
        #expect(!probe.states.contains { $0.isFailed })
    }
}
