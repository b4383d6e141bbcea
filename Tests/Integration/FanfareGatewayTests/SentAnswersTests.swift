import Dispatch
import TestSupport
import Testing

@testable import FanfareGateway

/// Whether the client has an answer that was written.
@Suite struct SentAnswersTests {
    private static func head(_ path: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\n\r\n"
    }

    @Test func answerThatCrossesTheEndOfItsClientIsNotWritten() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/crossing"))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            // The server writes before it reads the end.
            peer.end()
            server.crossing.signal()
            try TestServer.wait("the end") { server.ends.all == [false] }
        }
    }

    @Test func answerOfAStreamThatCrossesTheEndOfItsClientIsNotWritten() async throws {
        try await TestServer.run { server in
            let peer = try FramePeer(port: server.port)
            try peer.acknowledge()
            try peer.send(peer.request(1, "/crossing"))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            peer.end()
            server.crossing.signal()
            try TestServer.wait("the end") { server.ends.all == [false] }
        }
    }

    @Test(arguments: [true, false])
    func answerThatIsReadBeforeTheEndIsWritten(endsBothSides: Bool) async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/x"))
            #expect(try peer.answer().status == 200)
            if endsBothSides { peer.end() } else { peer.endSending() }
            try TestServer.wait("the end") { server.ends.all == [true] }
        }
    }

    @Test func clientThatEndsItsSideCountsAsGone() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.head("/wait"))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            peer.endSending()
            #expect(try peer.readToEnd().isEmpty)
            try TestServer.wait("the server to see it") { server.leaves.all == ["/wait"] }
            server.gate.open()
            try TestServer.wait("the end") { server.ends.all == [false] }
        }
    }
}
