import EventLoop
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct TLSTests {
    private func server(
        _ authority: Certificates,
        names: [String] = ["DNS:localhost", "IP:127.0.0.1"],
        requireClient: Bool = false
    ) throws -> RedisServer {
        let identity = try authority.issue("server", names: names)
        return try RedisServer(
            port: .tls(identity, caFile: authority.caFile, requireClientCertificate: requireClient)
        )
    }

    private func firstState(_ server: RedisServer, host: String, _ tls: TLSOptions) throws -> RedisState? {
        let probe = ConnectionProbe()
        try probe.run(try RedisEndpoint(url: "rediss://\(host):\(server.port)"), tls: tls) { _, state, finish in
            if state != .connecting { finish() }
        }
        return probe.states.dropFirst().first
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func repliesComeThroughTLS(_ host: String) throws {
        let authority = try Certificates()
        let server = try server(authority)
        defer { server.stop() }
        let probe = ConnectionProbe()
        // Many records in both directions, larger than one and larger than the socket's buffers.
        let commands = (0..<100).map { RedisCommand("ECHO", String(repeating: "\($0 % 10)", count: 50_000)) }
        try probe.exchange(
            try RedisEndpoint(url: "rediss://\(host):\(server.port)"),
            tls: TLSOptions(caFile: authority.caFile),
            commands
        )
        #expect(probe.answers.map { $0.value?.string } == commands.map { String(decoding: $0.word(1), as: UTF8.self) })
    }

    /// Made piece by piece, with small ones before and after them, of which some come while the large ones leave.
    @Test func largeCommandsKeepTheirOrder() throws {
        let authority = try Certificates()
        let server = try server(authority)
        defer { server.stop() }
        let commands = (0..<24).map { index in
            let isLarge = index % 8 == 3
            return RedisCommand("ECHO", String(repeating: "\(index % 10)", count: isLarge ? 3 << 20 : 2_000))
        }
        let expected = commands.map { String(decoding: $0.word(1), as: UTF8.self) }
        for endpoint in ["rediss://localhost:\(server.port)", "unix://\(server.socketPath)"] {
            let probe = ConnectionProbe()
            let tls = TLSOptions(caFile: authority.caFile)
            try probe.run(try RedisEndpoint(url: endpoint), tls: tls) {
                [record = probe.record] connection, state, finish in
                guard state == .ready else { return }
                func send(_ part: some Sequence<RedisCommand>) {
                    for command in part {
                        connection.send(command) { answer in
                            let count = record.withLock { record in
                                record.answers.append(answer)
                                return record.answers.count
                            }
                            if count == 1 { send(commands[16...]) }
                            if count == commands.count { finish() }
                        }
                    }
                }
                send(commands[..<16])
            }
            #expect(probe.answers.map { $0.value?.string } == expected, "\(endpoint)")
        }
    }

    @Test func anotherAuthorityIsAFailure() throws {
        let (authority, other) = (try Certificates(), try Certificates())
        let server = try server(authority)
        defer { server.stop() }
        for tls in [TLSOptions(caFile: other.caFile), TLSOptions()] {
            let state = try #require(try firstState(server, host: "localhost", tls))
            #expect(state.isFailed)
            #expect(state.error?.code == .tls)
            #expect(state.error?.message.contains("certificate verify failed") == true)
        }
    }

    @Test(arguments: [("localhost", ["DNS:redis.example"]), ("127.0.0.1", ["DNS:localhost", "IP:127.0.0.2"])])
    func anotherHostsCertificateIsAFailure(_ host: String, _ names: [String]) throws {
        let authority = try Certificates()
        let server = try server(authority, names: names)
        defer { server.stop() }
        let state = try #require(try firstState(server, host: host, TLSOptions(caFile: authority.caFile)))
        #expect(state.isFailed)
        #expect(state.error?.message.contains("mismatch") == true)
    }

    @Test func aClientCertificateOpensAServerThatAsksForOne() throws {
        let authority = try Certificates()
        let server = try server(authority, requireClient: true)
        defer { server.stop() }
        let client = try authority.issue("client", names: [])
        let with = TLSOptions(caFile: authority.caFile, certFile: client.certFile, keyFile: client.keyFile)
        #expect(try firstState(server, host: "localhost", with) == .ready)
        // The server's alert and its reset race: either way it is not ready.
        let without = try #require(try firstState(server, host: "localhost", TLSOptions(caFile: authority.caFile)))
        #expect(without.isFailed || without.isUnavailable)
    }

    /// Messages name a file by its purpose: its path may be a secret that was given by mistake.
    @Test func missingFilesAreNamedWithoutTheirPath() throws {
        let authority = try Certificates()
        let server = try server(authority)
        defer { server.stop() }
        let state = try firstState(server, host: "localhost", TLSOptions(caFile: "/nowhere/ca.pem"))
        #expect(state?.isFailed == true)
        let message = state?.error?.message ?? ""
        #expect(message.contains("read the CA file") && !message.contains("nowhere"), "\(message)")
        let half = try firstState(server, host: "localhost", TLSOptions(caFile: authority.caFile, certFile: "/x"))
        #expect(half?.isFailed == true)
    }

    @Test func aPlainServerBehindTLSIsAFailureAndNoHang() throws {
        let server = try RedisServer(port: .plain)
        defer { server.stop() }
        let state = try #require(try firstState(server, host: "localhost", TLSOptions()))
        #expect(state.isFailed || state.isUnavailable)
    }

    @Test func theServersDeathIsNoticed() throws {
        let authority = try Certificates()
        let server = try server(authority)
        defer { server.stop() }
        let probe = ConnectionProbe()
        let endpoint = try RedisEndpoint(url: "rediss://localhost:\(server.port)")
        let tls = TLSOptions(caFile: authority.caFile)
        try probe.run(endpoint, tls: tls, timeouts: .forTests()) { [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            if record.withLock({ !$0.answers.isEmpty }) { return finish() }
            connection.send(RedisCommand("PING")) { _ in server.kill9() }
            // In the same write: the first is answered, the second waits in the server when that dies.
            connection.send(RedisCommand("BLPOP", "nothing", "0")) { answer in
                record.withLock { $0.answers.append(answer) }
                try? server.restart()
            }
        }
        #expect(probe.answers.map { $0.error?.code } == [.connectionLost])
        #expect(probe.answers.first?.error?.maybeApplied == true)
    }
}
