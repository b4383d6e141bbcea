import NIOCore
import TestSupport
import Testing

@testable import FanfareGateway

/// Clients of HTTP/2 that open too much, reset too much, or leave things half done.
@Suite struct HostileStreamTests {
    private typealias Frame = FramePeer.Frame

    private static let short = HTTPTimes(wholeRequest: .milliseconds(300), answer: .hours(1), idle: .hours(1))
    private static let (refused, calm, internalError): (UInt32, UInt32, UInt32) = (7, 11, 2)

    @Test func settingsNameTheLimits() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            #expect(peer.serverSettings[3] == 250 && peer.serverSettings[6] == 32_768)
        }
    }

    @Test func streamAboveTheLimitIsRefusedAndTheOthersGoOn() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            let streams = (0..<250).map { UInt32(2 * $0 + 1) }
            try peer.send(streams.map { try peer.request($0, "/wait") })
            try TestServer.wait("the requests") { server.requests.all.count == 250 }
            try peer.send(peer.request(501), peer.request(503))
            for (stream, end) in try peer.ends(of: [501, 503]) {
                #expect(end.type == FramePeer.reset && end.code == Self.refused, "\(stream)")
            }
            #expect(server.requests.all.count == 250)
            server.gate.open()
            #expect(try peer.ends(of: streams).values.allSatisfy { $0.type == FramePeer.data })
            try peer.send(peer.request(505))
            #expect(try peer.ends(of: [505])[505]?.type == FramePeer.data)
        }
    }

    /// The HTTP/2 handler would end the connection above 100.
    @Test(arguments: [100, 250]) func streamsAreServedBeforeTheSettingsAreRead(count: Int) async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            let streams = (0..<count).map { UInt32(2 * $0 + 1) }
            try peer.send(streams.map { try peer.request($0, "/wait") })
            try TestServer.wait("the requests") { server.requests.all.count == count }
            try peer.acknowledge()
            server.gate.open()
            #expect(try peer.ends(of: streams).values.allSatisfy { $0.type == FramePeer.data })
            try peer.send(peer.request(1_001))
            #expect(try peer.ends(of: [1_001])[1_001]?.type == FramePeer.data)
        }
    }

    @Test func firstFlightMayComeByteByByte() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.sendByteByByte([peer.request(1), Frame(type: FramePeer.settings, flags: 1), peer.request(3)])
            #expect(try peer.ends(of: [1, 3]).values.allSatisfy { $0.type == FramePeer.data })
        }
    }

    @Test func secondAcknowledgementEndsTheConnection() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(Frame(type: FramePeer.settings, flags: 1))
            #expect(try peer.readToEnd().last { $0.type == FramePeer.goAway }?.code == 1)
        }
    }

    @Test func clientThatGivesUpAThousandRequestsIsServed() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            for number in 0..<1_000 {
                let stream = UInt32(2 * number + 1)
                let reset = Frame(type: FramePeer.reset, stream: stream, payload: [0, 0, 0, 8])
                try peer.send(peer.request(stream, "/wait"), reset)
            }
            try peer.send(peer.request(2_001))
            #expect(try peer.ends(of: [2_001])[2_001]?.type == FramePeer.data)
        }
    }

    @Test func rapidResetEndsTheConnection() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            for number in 0..<2_100 {
                let stream = UInt32(2 * number + 1)
                let reset = Frame(type: FramePeer.reset, stream: stream, payload: [0, 0, 0, 8])
                // The server may have closed.
                try? peer.send(peer.request(stream, "/wait"), reset)
            }
            let end = try peer.readToEnd().last { $0.type == FramePeer.goAway }
            #expect(end?.code == Self.calm)
        }
    }

    @Test(arguments: [(900, true), (1_100, false)])
    func pingsAreAnsweredUpToALimit(count: Int, isServed: Bool) async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            let pings = [Frame](
                repeating: Frame(type: FramePeer.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]),
                count: count
            )
            try? peer.send(pings)
            if isServed {
                try peer.send(peer.request(1))
                #expect(try peer.ends(of: [1])[1]?.type == FramePeer.data)
            } else {
                #expect(try peer.readToEnd().last { $0.type == FramePeer.goAway }?.code == Self.calm)
            }
        }
    }

    @Test func streamWithoutItsBodyIsResetAndTheOthersGoOn() async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, ends: false), peer.request(3, "/wait"))
            let end = try peer.ends(of: [1])[1]
            #expect(end?.type == FramePeer.reset && end?.code == Self.refused, "some clients wait on after a CANCEL")
            server.gate.open()
            #expect(try peer.ends(of: [3])[3]?.type == FramePeer.data)
            #expect(server.requests.all.count == 1)
        }
    }

    @Test func headersWithoutTheirEndEndTheConnection() async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            var half = try peer.request(1)
            half.flags = FramePeer.endStream
            try peer.roundTrip()
            try peer.send(half)
            _ = try peer.readToEnd()
            #expect(server.requests.all.isEmpty)
        }
    }

    @Test func silentConnectionWithoutFramesIsClosed() async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.roundTrip()
            let idle = try FramePeer(port: server.port)
            try idle.acknowledge()
            // Ends after the time of the others would be over.
            let raw = try RawPeer(port: server.port)
            try raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            _ = try raw.readToEnd()
            // A connection with frames and without requests may be idle.
            for peer in [peer, idle] {
                try peer.send(peer.request(1))
                #expect(try peer.ends(of: [1])[1]?.type == FramePeer.data)
            }
        }
    }

    @Test(arguments: ["/", "/wait"])
    func connectionWithoutFramesEnds(path: String) async throws {
        let times = HTTPTimes(wholeRequest: .hours(1), answer: .hours(1), idle: .milliseconds(300))
        try await TestServer.run(times: times) { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, path))
            let frames = try peer.readToEnd()
            // With a request that waits, the client counts as lost.
            #expect(frames.contains { $0.type == FramePeer.goAway && $0.code == 0 } == (path == "/"))
            try TestServer.wait("the server to see it") { server.leaves.all == (path == "/" ? [] : ["/wait"]) }
        }
    }

    @Test func hugeHeadersEndTheConnection() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            var whole = try peer.request(1, more: (0..<300).map { ("x-\($0)", String(repeating: "q", count: 200)) })
            let block = whole.payload
            whole.payload = Array(block.prefix(16_000))
            whole.flags = FramePeer.endStream
            var frames = [whole]
            for start in stride(from: 16_000, to: block.count, by: 16_000) {
                let isLast = start + 16_000 >= block.count
                let piece = Array(block[start...].prefix(16_000))
                frames.append(Frame(type: 9, flags: isLast ? FramePeer.endHeaders : 0, stream: 1, payload: piece))
            }
            try peer.send(frames)
            #expect(try peer.readToEnd().contains { $0.type == FramePeer.goAway })
            #expect(server.requests.all.isEmpty)
        }
    }

    @Test(arguments: [
        [(":method", "CONNECT"), (":authority", "x:1")], [(":method", "POST"), (":scheme", "https"), (":path", "/")],
    ])
    func headersThatNameNoPathOrHostResetTheirStream(headers: [(String, String)]) async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.headers(1, headers), peer.request(3))
            let ends = try peer.ends(of: [1, 3])
            #expect(ends[1]?.type == FramePeer.reset && ends[1]?.code == 1)
            #expect(ends[3]?.type == FramePeer.data && server.requests.all.count == 1)
        }
    }

    @Test(arguments: [
        [(":scheme", "https"), (":path", "/"), (":authority", "x")], [("a", "b"), (":method", "GET"), (":path", "/")],
        [(":method", "GET"), (":scheme", "https"), (":path", ""), (":authority", "x")],
        [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "x"), ("A", "b")],
        [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "x"), ("content-length", "3")],
    ])
    func headersThatAreNoRequestAreNotServed(headers: [(String, String)]) async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.headers(1, headers))
            #expect(try peer.next { $0.type == FramePeer.reset }.code == 1)
            #expect(server.requests.all.isEmpty)
        }
    }

    @Test func trailersEndARequest() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            let body = Frame(type: FramePeer.data, stream: 1, payload: [1, 2, 3])
            try peer.send(peer.request(1, ends: false), body, peer.headers(1, [("checksum", "6")]))
            #expect(try peer.ends(of: [1])[1]?.payload == Array("POST / 3".utf8))
        }
    }

    @Test func bodiesOfStreamsThatWereResetLeaveTheirWindowToOthers() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            for number in 0..<20 {
                let stream = UInt32(2 * number + 1)
                let piece = Frame(type: FramePeer.data, stream: stream, payload: [UInt8](repeating: 65, count: 16_000))
                let reset = Frame(type: FramePeer.reset, stream: stream, payload: [0, 0, 0, 8])
                try peer.send(peer.request(stream, "/upload/later", method: "PUT", ends: false), piece, piece, reset)
                try peer.roundTrip()
            }
            let last = Frame(
                type: FramePeer.data,
                flags: FramePeer.endStream,
                stream: 101,
                payload: [UInt8](repeating: 65, count: 16_000)
            )
            try peer.send(peer.request(101, ends: false), last)
            #expect(try peer.ends(of: [101])[101]?.payload == Array("POST / 16000".utf8))
            server.gate.open()
        }
    }

    @Test func answersAreFinishedBeforeAStop() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, "/wait"), peer.request(3, "/wait"))
            try TestServer.wait("the requests") { server.requests.all.count == 2 }
            server.stop()
            let goAway = try peer.next { $0.type == FramePeer.goAway }
            #expect(goAway.code == 0 && goAway.payload.prefix(4) == [0, 0, 0, 3])
            server.gate.open()
            let frames = try peer.readToEnd()
            for stream in [UInt32(1), 3] {
                #expect(frames.contains { $0.stream == stream && $0.type == FramePeer.data && $0.flags & 1 != 0 })
            }
        }
    }

    @Test func answerThatIsNotTakenEndsItsStream() async throws {
        let times = HTTPTimes(wholeRequest: .hours(1), answer: .milliseconds(300), idle: .hours(1))
        try await TestServer.run(times: times) { server in
            // No byte of a body may be sent.
            let peer = try FramePeer(port: server.port, settings: [4: 0])
            try peer.acknowledge()
            try peer.send(peer.request(1), peer.request(3, "/pieces"))
            #expect(try peer.ends(of: [1, 3]).values.allSatisfy { $0.type == FramePeer.reset })
            try TestServer.wait("the ends") { server.ends.all.count == 2 }
            #expect(server.ends.all == [false, false] && server.pieces.all == [0])
        }
    }

    @Test func answerThatFailsIsNoWholeOne() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, "/broken"))
            let end = try peer.ends(of: [1])[1]
            #expect(end?.type == FramePeer.reset && end?.code == Self.internalError)
            #expect(server.ends.all == [false])
        }
    }

    @Test func bodyOfAStreamWaitsForItsReader() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, "/upload/later", method: "PUT", ends: false))
            let piece = [UInt8](repeating: 65, count: 16_000)
            for _ in 0..<4 { try peer.send(Frame(type: FramePeer.data, stream: 1, payload: piece)) }
            server.gate.open()
            // The window opens as the body is read.
            _ = try peer.next { $0.type == FramePeer.window && $0.stream == 1 }
            for last in [false, true] {
                let flags = last ? FramePeer.endStream : 0
                try peer.send(Frame(type: FramePeer.data, flags: flags, stream: 1, payload: piece))
            }
            _ = try peer.ends(of: [1])
            #expect(server.bodies.all.map(\.bytes) == [96_000])
        }
    }
}
