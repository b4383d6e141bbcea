import EventLoop
import Glibc
import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct OutageTests {
    @Test func everyCommandEndsOnceAcrossKillsAndRestarts() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let rounds = 5
        let (sent, applied, lost) = (Locked(0), Locked(0), Locked(0))
        let probe = ConnectionProbe()
        try probe.run(server.endpoint, timeouts: .forTests()) { [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            if record.withLock({ $0.states.filter { $0 == .ready }.count }) > rounds { return finish() }
            for index in 0..<2_000 {
                sent.withLock { $0 += 1 }
                connection.send(RedisCommand("INCR", "counter")) { answer in
                    if answer.value != nil { applied.withLock { $0 += 1 } }
                    if let error = answer.error {
                        if error.code != .connectionLost { record.withLock { $0.answers.append(answer) } }
                        if error.maybeApplied { lost.withLock { $0 += 1 } }
                    }
                    // In the middle of the pipeline: this reply is in, not all of the later ones are.
                    guard index == 100 else { return }
                    server.kill9()
                    try? server.restart()
                }
            }
        }
        #expect(probe.answers.isEmpty)
        #expect(sent.withLock { $0 } == rounds * 2_000)
        let counter = try #require(Int(try server.cli("GET", "counter")))
        let acknowledged = applied.withLock { $0 }
        // No acknowledged command is missing, none was sent twice, and the others are reported as in doubt.
        #expect(counter >= acknowledged)
        #expect(counter <= acknowledged + lost.withLock { $0 })
    }

    @Test func aStoppedServerIsTriedAgainWithGrowingPauses() throws {
        let folder = try TemporaryFolder()
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .unix(path: folder.file("none.sock")))
        try probe.run(endpoint) { [record = probe.record] connection, state, finish in
            connection.send(RedisCommand("PING")) { answer in record.withLock { $0.answers.append(answer) } }
            if record.withLock({ $0.states.count }) == 5 { finish() }
        }
        #expect(probe.answers.allSatisfy { $0.error?.code == .notConnected && $0.error?.maybeApplied == false })
        let times = probe.record.withLock { $0.times }
        // Half of the way from 50 ms to 100, 200, 400 ms.
        for (index, pause) in [(2, 75), (3, 125), (4, 225)] {
            let measured = (times[index] - times[index - 1]) / 1_000_000
            #expect(measured >= UInt64(pause - 5), "pause \(index)")
        }
    }

    @Test func aSilentServerTimesOutAndTheConnectionIsReplaced() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let probe = ConnectionProbe()
        try probe.run(server.endpoint, timeouts: .forTests()) { [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            if record.withLock({ $0.states.filter { $0 == .ready }.count }) == 2 { return finish() }
            connection.send(RedisCommand("DEBUG", "SLEEP", "1"), timeoutMs: 100) { answer in
                record.withLock { $0.answers.append(answer) }
            }
            connection.send(RedisCommand("PING")) { answer in record.withLock { $0.answers.append(answer) } }
        }
        #expect(probe.answers.map { $0.error?.code } == [.timeout, .connectionLost])
        #expect(probe.answers.allSatisfy { $0.error?.maybeApplied == true })
        #expect(probe.states[2].error?.code == .timeout)
    }

    @Test func aBlockingCommandMayTakeLongerThanOthers() throws {
        let server = try RedisServer()
        defer { server.stop() }
        try server.cli("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        let probe = ConnectionProbe()
        try probe.run(server.endpoint, timeouts: .forTests(commandMs: 100)) {
            [record = probe.record] connection, state, finish in
            guard state == .ready else { return }
            let read = RedisCommand("XREADGROUP", "GROUP", "g", "c", "BLOCK", "400", "STREAMS", "s", ">")
            connection.send(read, timeoutMs: 5_000) { answer in
                record.withLock { $0.answers.append(answer) }
                finish()
            }
        }
        #expect(probe.answers.map(\.value) == [.null])
    }

    @Test func aPeerThatNeverAnswersTimesOutWhileConnecting() throws {
        let peer = try ScriptedPeer { connection, _ in connection.waitForEnd() }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: peer.port))
        try probe.run(endpoint, timeouts: .forTests(connectMs: 150)) { _, state, finish in
            if state != .connecting { finish() }
        }
        #expect(probe.states.dropFirst().first?.error?.code == .timeout)
        #expect(probe.states.dropFirst().first?.isUnavailable == true)
    }

    @Test func unwrittenCommandIsNotInDoubt() throws {
        // Answers the greeting and reads no more: the kernel's buffers fill, the rest stays with us.
        let peer = try ScriptedPeer { connection, number in
            connection.receive(until: "PING")
            connection.send("+OK\r\n+PONG\r\n")
            if number == 0 { _ = connection.receive(until: "command-0") }
        }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: peer.port))
        let payload = String(repeating: "x", count: 1 << 20)
        try probe.run(endpoint, timeouts: .forTests()) { [record = probe.record] connection, state, finish in
            if state.isUnavailable { return }
            guard state == .ready, record.withLock({ $0.answers.isEmpty }) else { return }
            for index in 0..<40 {
                // The first is small: one that is only half written has certainly not been run.
                connection.send(RedisCommand("ECHO", "command-\(index)", index == 0 ? "" : payload)) { answer in
                    record.withLock { $0.answers.append(answer) }
                    if index == 39 { finish() }
                }
            }
        }
        let doubts = probe.answers.map { $0.error?.maybeApplied }
        #expect(probe.answers.allSatisfy { $0.error?.code == .connectionLost })
        #expect(doubts.first == true)
        #expect(doubts.last == false)
    }

    /// Sends a command to a peer and returns its result; after the greeting the peer runs `play`.
    private func ask(_ question: RedisCommand, _ play: @escaping @Sendable (ScriptedPeer.Connection) -> Void) throws
        -> (answer: Answer?, tookMs: UInt64)
    {
        let peer = try ScriptedPeer { connection, _ in
            connection.shrinkReceiveBuffer()
            connection.receive(until: "PING")
            connection.send("+OK\r\n+PONG\r\n")
            play(connection)
            connection.waitForEnd()
        }
        defer { peer.stop() }
        let probe = ConnectionProbe()
        let endpoint = RedisEndpoint(address: .tcp(host: "127.0.0.1", port: peer.port))
        let timeouts = RedisTimeouts.forTests(commandMs: Self.patienceMs)
        try probe.run(endpoint, timeouts: timeouts) { [record = probe.record] connection, state, finish in
            guard state == .ready, record.withLock({ $0.answers.isEmpty }) else { return }
            connection.send(question) { answer in
                record.withLock {
                    $0.answers.append(answer)
                    $0.times.append(SystemClock.bootNs)
                }
                finish()
            }
        }
        let times = probe.record.withLock { $0.times }
        return (probe.answers.first, (times[2] - times[1]) / 1_000_000)
    }

    private static let patienceMs: Int64 = 1_000
    private static let pieceMs: UInt32 = 50

    @Test func anAnswerMayTakeLongerWhileItComes() throws {
        let pieces = 40
        let (answer, tookMs) = try ask(RedisCommand("QUESTION")) { connection in
            connection.receive(until: "QUESTION")
            connection.send("$\(pieces * 10)\r\n")
            for _ in 0..<pieces {
                usleep(Self.pieceMs * 1_000)
                connection.send("0123456789")
            }
            connection.send("\r\n")
        }
        #expect(answer?.value?.bytes?.count == pieces * 10)
        #expect(tookMs > UInt64(Self.patienceMs))
    }

    @Test func stoppedAnswerTimesOut() throws {
        let (answer, tookMs) = try ask(RedisCommand("QUESTION")) { connection in
            connection.receive(until: "QUESTION")
            connection.send("$100\r\n0123456789")
        }
        #expect(answer?.error?.code == .timeout)
        #expect(tookMs >= UInt64(Self.patienceMs))
    }

    @Test func aCommandMayTakeLongerWhileItLeaves() throws {
        // More than the kernel holds for a peer that takes its time.
        let size = 40 << 20
        let question = RedisCommand("QUESTION", String(repeating: "x", count: size))
        let (answer, tookMs) = try ask(question) { connection in
            var received = 0
            while received < size {
                let before = received
                while received < size, received < before + (1 << 20) {
                    let bytes = connection.receive()
                    if bytes.isEmpty { return }
                    received += bytes.count
                }
                usleep(Self.pieceMs * 1_000)
            }
            connection.send("+OK\r\n")
        }
        #expect(answer?.value == .status("OK"))
        #expect(tookMs > UInt64(Self.patienceMs))
    }

    @Test func unreadCommandTimesOut() throws {
        let question = RedisCommand("QUESTION", String(repeating: "x", count: 40 << 20))
        let (answer, tookMs) = try ask(question) { connection in
            connection.receive(until: "QUESTION")
            // Reads no more, and hangs up only after the client has closed.
            usleep(UInt32(Self.patienceMs) * 4_000)
        }
        #expect(answer?.error?.code == .timeout)
        #expect(tookMs >= UInt64(Self.patienceMs))
    }
}
