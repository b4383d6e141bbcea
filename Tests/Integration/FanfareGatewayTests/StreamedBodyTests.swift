import FanfareHTTP
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import FanfareGateway

/// Bodies that come and go in pieces over HTTP/1.1, and gzip.
@Suite struct StreamedBodyTests {
    private static func head(_ path: String, _ headers: String) -> String {
        "PUT \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\n\(headers)\r\n"
    }

    private static func gzip(_ command: String) throws -> [UInt8] {
        try runProgram("/bin/bash", ["-c", "set -o pipefail; \(command) | gzip -c"])
    }

    @Test func bodyIsReadAsFarAsItsReaderIs() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let count = 40_000_000
            try peer.send(Self.head("/upload/later", "Content-Length: \(count)\r\n"))
            let taken = peer.sendUntilBlocked([UInt8](repeating: 65, count: count))
            #expect(taken < 20_000_000, "\(taken)")
            server.gate.open()
            try peer.send([UInt8](repeating: 65, count: count - taken))
            #expect(try peer.answer().body == Array("\(count)".utf8))
            // The connection stays open.
            try peer.send(Self.head("/x", ""))
            #expect(try peer.answer().body == Array("PUT /x 0".utf8))
        }
    }

    @Test func clientThatLeavesEndsTheBody() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/upload", "Content-Length: 100\r\n") + "abc")
            try TestServer.wait("the request") { !server.requests.all.isEmpty }
            peer.end()
            try TestServer.wait("the end") { server.bodies.all.count == 1 }
            #expect(server.bodies.all.first?.fault == .left)
        }
    }

    @Test func clientThatDoesNotSendOnEndsTheBody() async throws {
        let times = HTTPTimes(wholeRequest: .milliseconds(300), answer: .hours(1), idle: .hours(1))
        try await TestServer.run(times: times) { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/upload", "Content-Length: 100\r\n") + "abc")
            #expect(try peer.readToEnd().isEmpty)
            try TestServer.wait("the end") { server.bodies.all.count == 1 }
            #expect(server.bodies.all.first?.bytes == 3 && server.bodies.all.first?.fault == .left)
        }
    }

    @Test func bodyThatIsNotReadIsAnsweredAtOnce() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/upload/refused", "Content-Length: 40000000\r\n") + "abc")
            let answer = try peer.answer()
            #expect(answer.status == 403 && answer.headers["connection"] == "close")
            #expect(peer.sendUntilBlocked([UInt8](repeating: 65, count: 39_000_000)) < 20_000_000)
        }
    }

    @Test func clientIsAskedForABodyWhenItIsRead() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/upload", "Expect: 100-continue\r\nContent-Length: 3\r\n"))
            #expect(try peer.answer().status == 100)
            try peer.send("abc")
            #expect(try peer.answer().body == Array("3".utf8))
            try peer.send(Self.head("/upload/refused", "Expect: 100-continue\r\nContent-Length: 3\r\n"))
            #expect(try peer.answer().status == 403)
        }
    }

    @Test func streamedBodyAboveItsLimitFails() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let zeros = try Self.gzip("head -c 60000000 /dev/zero")
            try peer.send(Self.head("/upload", "Content-Encoding: gzip\r\nContent-Length: \(zeros.count)\r\n"))
            try peer.send(zeros)
            #expect(try peer.answer().status == 400)
            #expect(server.bodies.all.first?.fault == .tooLarge)
        }
    }

    @Test func gzipIsInflatedInPieces() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let text = try Self.gzip("seq 1 1000000")
            try peer.send(Self.head("/upload", "Content-Encoding: gzip\r\nContent-Length: \(text.count)\r\n"))
            try peer.send(text)
            #expect(try peer.answer().body == Array("6888896".utf8))
            try peer.send(Self.head("/upload", "Content-Encoding: GZIP\r\nContent-Length: \(text.count - 9)\r\n"))
            try peer.send(Array(text.dropLast(9)))
            #expect(try peer.answer().status == 400)
            #expect(server.bodies.all.last?.fault == .coding("gzip without its end"))
        }
    }

    @Test(arguments: [
        ("printf hello", "", 200, "POST / 5"), ("head -c 100000 /dev/zero", "", 200, "POST / 100000"),
        ("head -c 100001 /dev/zero", "", 413, "POST / 0"), ("head -c 90000000 /dev/zero", "", 413, "POST / 0"),
        ("printf hello", "more", 400, "POST / 0"),
    ])
    func wholeBodyIsInflated(command: String, more: String, status: Int, answered: String) async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let body = try Self.gzip(command) + Array(more.utf8)
            try peer.send(
                "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\nContent-Encoding: gzip\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n"
            )
            try peer.send(body)
            let answer = try peer.answer()
            #expect(answer.status == status && answer.body == Array(answered.utf8))
            #expect(server.requests.all.first?.headers["content-encoding"] == nil)
        }
    }

    @Test func answerIsMadeAsFarAsItIsRead() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port, receiveBuffer: 65_536)
            try peer.send(Self.head("/pieces", ""))
            #expect(try peer.answer().headers["transfer-encoding"] == "chunked")
            try TestServer.wait("the first pieces") { server.pieces.all.count > 1 }
            let made = server.pieces.all.count
            #expect(made < 500, "\(made)")
            peer.end()
            try TestServer.wait("the end") { !server.ends.all.isEmpty }
            #expect(server.ends.all == [false] && server.pieces.all.count < 1_000)
        }
    }

    @Test func answerInPiecesIsWhole() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/pieces", "Connection: close\r\n"))
            let bytes = try peer.readToEnd()
            #expect(bytes.count { $0 == 65 } == 50_000_000 && bytes.suffix(7) == Array("\r\n0\r\n\r\n".utf8)[...])
            #expect(server.ends.all == [true])
            // Without chunks, the end is the connection's.
            let old = try RawPeer(port: server.port)
            try old.send("GET /pieces HTTP/1.0\r\nAuthorization: \(TestAnswers.key)\r\n\r\n")
            #expect(try old.readToEnd().count { $0 == 65 } == 50_000_000)
        }
    }

    @Test func answerThatFailsIsNoWholeOne() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/broken", ""))
            let bytes = try peer.readToEnd()
            #expect(bytes.count > 50_000 && bytes.suffix(5) != Array("0\r\n\r\n".utf8)[...])
            #expect(server.ends.all == [false])
        }
    }

    @Test func answerKnowsWhetherItWasWritten() async throws {
        try await TestServer.run { server in
            let (reader, leaver) = (try RawPeer(port: server.port), try RawPeer(port: server.port))
            try reader.send(Self.head("/x", ""))
            #expect(try reader.answer().status == 200)
            try TestServer.wait("the end") { server.ends.all == [true] }
            try leaver.send(Self.head("/wait", ""))
            try TestServer.wait("the request") { server.requests.all.count == 2 }
            leaver.end()
            try TestServer.wait("the server to see it") { server.leaves.all == ["/wait"] }
            server.gate.open()
            try TestServer.wait("the other end") { server.ends.all == [true, false] }
        }
    }

    @Test func answerThatIsNotTakenEndsTheConnection() async throws {
        let times = HTTPTimes(wholeRequest: .hours(1), answer: .milliseconds(300), idle: .hours(1))
        try await TestServer.run(times: times) { server in
            let peer = try RawPeer(port: server.port, receiveBuffer: 65_536)
            try peer.send(Self.head("/pieces", ""))
            try TestServer.wait("the end") { !server.ends.all.isEmpty }
            #expect(server.ends.all == [false] && server.pieces.all.count < 1_000)
        }
    }
}
