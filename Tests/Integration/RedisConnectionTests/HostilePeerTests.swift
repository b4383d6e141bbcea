import EventLoop
import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct HostilePeerTests {
    private static let greeting = "+OK\r\n+PONG\r\n"

    /// The result of one command that the peer answered with these bytes.
    private func answer(_ bytes: [UInt8], limits: RedisLimits = RedisLimits(), inPieces: Bool = false) throws -> Answer?
    {
        let peer = try ScriptedPeer { connection, _ in
            connection.receive(until: "PING")
            connection.send(Self.greeting)
            connection.receive(until: "QUESTION")
            if inPieces { for byte in bytes { connection.send([byte]) } } else { connection.send(bytes) }
            connection.waitForEnd()
        }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: peer.port))
        try probe.run(endpoint, timeouts: .forTests(commandMs: 2_000), limits: limits) {
            [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            connection.send(RedisCommand("QUESTION")) { answer in
                record.withLock { $0.answers.append(answer) }
                finish()
            }
        }
        return probe.answers.first
    }

    @Test func repliesSplitAtEveryByteAreWhole() throws {
        let reply = "*5\r\n$5\r\nhello\r\n:-42\r\n*2\r\n+OK\r\n$-1\r\n-ERR inner\r\n*0\r\n"
        let expected = RedisValue.array([
            .bulk(Array("hello".utf8)), .integer(-42), .array([.status("OK"), .null]), .error("ERR inner"), .array([]),
        ])
        #expect(try answer(Array(reply.utf8), inPieces: true)?.value == expected)
    }

    @Test(arguments: [
        "!bad\r\n", "*2147483648\r\n", "*99999999999999999999\r\n", "$-2\r\n", "*-2\r\n", ":12x\r\n", ":\r\n",
        "$99999999999999999999\r\n", "*1\r\n?\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "*x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "~1\r\n:1\r\n", ",1.5\r\n", ">1\r\n+x\r\n",
    ])
    func whatIsNotRESP2EndsTheConnection(_ reply: String) throws {
        #expect(try answer(Array(reply.utf8))?.error?.code == .protocolError)
    }

    @Test func aClaimedSizeReservesNothing() throws {
        // Neither is whole, so neither is an error: only the deadline ends them, and no memory was taken.
        for reply in ["*2147483647\r\n:1\r\n", "$2147483647\r\nabc"] {
            #expect(try answer(Array(reply.utf8))?.error?.code == .timeout)
        }
    }

    @Test func repliesBeyondTheLimitsEndTheConnection() throws {
        var limits = RedisLimits()
        limits.maximumReplyBytes = 100_000
        limits.maximumDepth = 2
        limits.maximumLineBytes = 1_000
        let large = Array("$200000\r\n".utf8) + [UInt8](repeating: 120, count: 200_000)
        let many = Array("*10000\r\n".utf8) + Array(String(repeating: ":1\r\n", count: 9_999).utf8)
        let endless = Array("+".utf8) + [UInt8](repeating: 120, count: 70_000)
        let deep = Array("*1\r\n*1\r\n*1\r\n:1\r\n".utf8)
        for reply in [large, many, endless, deep] {
            #expect(try answer(reply, limits: limits)?.error?.code == .protocolError)
        }
        let fits = Array("*1\r\n*1\r\n$50000\r\n".utf8) + [UInt8](repeating: 120, count: 50_000) + [13, 10]
        #expect(try answer(fits, limits: limits)?.value != nil)
    }

    @Test func replyWithoutACommandEndsTheConnection() throws {
        let peer = try ScriptedPeer { connection, number in
            connection.receive(until: "PING")
            connection.send(Self.greeting + (number == 0 ? "+SURPRISE\r\n" : ""))
            connection.waitForEnd()
        }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: peer.port))
        try probe.run(endpoint, timeouts: .forTests()) { [record = probe.record] _, _, finish in
            if record.withLock({ $0.states.filter { $0 == .ready }.count }) == 2 { finish() }
        }
        #expect(probe.states[2].error?.code == .protocolError)
    }
}
