import FanfareHTTP
import TestSupport
import Testing

@testable import FanfareGateway

/// The limit of the bodies of all requests at once.
@Suite struct HeldBodiesTests {
    private static let body = [UInt8](repeating: 65, count: 90_000)

    private static func head(_ path: String, _ headers: String = "", count: Int = body.count) -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\n\(headers)"
            + "Content-Length: \(count)\r\n\r\n"
    }

    private static func send(_ server: TestServer, _ path: String = "/", _ body: [UInt8] = body) throws -> RawPeer {
        let peer = try RawPeer(port: server.port)
        try peer.send(head(path, count: body.count))
        try peer.send(body)
        return peer
    }

    @Test func bodyAboveTheLimitIsRefusedUntilAnotherIsAnswered() async throws {
        try await TestServer.run(maximumHeldBytes: 150_000) { server in
            let waiting = try Self.send(server, "/wait")
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            let refused = try Self.send(server)
            #expect(try refused.answer().status == 503)
            #expect(server.requests.all.last?.body.isEmpty == true)
            server.gate.open()
            #expect(try waiting.answer().body == Array("POST /wait 90000".utf8))
            // The refused body was read to its end, so that the connection continues.
            try refused.send(Self.head("/"))
            try refused.send(Self.body)
            #expect(try refused.answer().status == 200)
        }
    }

    @Test func bodyThatIsAloneIsAdmitted() async throws {
        try await TestServer.run(maximumHeldBytes: 50_000) { server in
            for _ in 0..<2 {
                let answer = try Self.send(server).answer()
                #expect(answer.status == 200)
            }
        }
    }

    @Test func inflatedBodyCounts() async throws {
        try await TestServer.run(maximumHeldBytes: 150_000) { server in
            let zeros = try runProgram("/bin/bash", ["-c", "head -c 90000 /dev/zero | gzip -c"])
            func sendZeros(_ path: String) throws -> RawPeer {
                let peer = try RawPeer(port: server.port)
                try peer.send(Self.head(path, "Content-Encoding: gzip\r\n", count: zeros.count))
                try peer.send(zeros)
                return peer
            }
            let waiting = try sendZeros("/wait")
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            #expect(try Self.send(server).answer().status == 503)
            #expect(try sendZeros("/").answer().status == 503)
            server.gate.open()
            #expect(try waiting.answer().status == 200)
            #expect(try sendZeros("/").answer().status == 200)
        }
    }

    @Test func waitingRequestWhoseBodyIsForgottenCountsNoMore() async throws {
        try await TestServer.run(maximumHeldBytes: 150_000) { server in
            let waiting = try Self.send(server, "/forgotten")
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            try TestServer.wait("room for another body") { try Self.send(server).answer().status == 200 }
            server.gate.open()
            #expect(try waiting.answer().body == Array("POST /forgotten 90000".utf8))
        }
    }

    @Test func clientThatLeavesFreesItsBody() async throws {
        try await TestServer.run(maximumHeldBytes: 150_000) { server in
            var leavers: [RawPeer] = []
            // A body that comes while the other one is held is refused itself.
            try TestServer.wait("a body that counts") {
                let leaver = try RawPeer(port: server.port)
                try leaver.send(Self.head("/", count: 95_000))
                try leaver.send(Self.body)
                leavers.append(leaver)
                return try Self.send(server).answer().status == 503
            }
            for leaver in leavers { leaver.end() }
            try TestServer.wait("the body to be freed") { try Self.send(server).answer().status == 200 }
        }
    }

    @Test func bodiesOfStrangersLeaveRoomForKeys() async throws {
        try await TestServer.run(maximumHeldBytes: 160_000) { server in
            let waiting = try Self.send(server, "/stranger/wait", [UInt8](repeating: 65, count: 15_000))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            #expect(try Self.send(server, "/stranger", [UInt8](repeating: 65, count: 6_000)).answer().status == 503)
            let keyed = try (0..<2).map { _ in try Self.send(server, "/wait", [UInt8](repeating: 65, count: 75_000)) }
            try TestServer.wait("the requests") { server.requests.all.count == 4 }
            server.gate.open()
            for peer in [waiting] + keyed { #expect(try peer.answer().status == 200) }
        }
    }
}
