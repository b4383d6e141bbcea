import FanfareHTTP
import Foundation
import NIOCore
import OpenSSLKit
import TestSupport
import Testing

@testable import FanfareGateway

/// Clients of HTTP/1.1 that are slow, silent, greedy or wrong.
@Suite struct HostileClientTests {
    private static let short = HTTPTimes(wholeRequest: .milliseconds(300), answer: .seconds(3_600), idle: .hours(1))

    private static func request(_ path: String = "/", _ headers: String = "", body: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\n\(headers)"
            + (body.isEmpty ? "\r\n" : "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    @Test(arguments: [
        "", "P", "POST / HTTP/1.1\r\nHost: x\r\nA: ", request("/", "Content-Length: 5\r\n") + "four",
        request("/", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n",
    ])
    func requestThatDoesNotBecomeWholeIsClosed(part: String) async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(part)
            #expect(try peer.readToEnd().isEmpty)
            #expect(server.requests.all.isEmpty)
        }
    }

    @Test func connectionWithoutRequestsIsClosed() async throws {
        let times = HTTPTimes(wholeRequest: .hours(1), answer: .hours(1), idle: .milliseconds(300))
        try await TestServer.run(times: times) { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request())
            #expect(try peer.answer().status == 200)
            #expect(try peer.readToEnd().isEmpty)
        }
    }

    @Test func timeOfANextRequestBeginsWithItsFirstByte() async throws {
        try await TestServer.run(times: Self.short) { server in
            let (slow, idle) = (try RawPeer(port: server.port), try RawPeer(port: server.port))
            for peer in [slow, idle] {
                try peer.send(Self.request())
                #expect(try peer.answer().status == 200)
            }
            try slow.send("P")
            #expect(try slow.readToEnd().isEmpty)
            // The other one was as long without a request.
            try idle.send(Self.request())
            #expect(try idle.answer().status == 200)
        }
    }

    @Test func partOfARequestThatCameWithTheOneBeforeIsTimedFromItsNextByte() async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request() + "POST / HT")
            #expect(try peer.answer().status == 200)
            try peer.send("T")
            #expect(try peer.readToEnd().isEmpty)
        }
    }

    @Test func requestIsNotTimedWhileItIsAnswered() async throws {
        try await TestServer.run(times: Self.short) { server in
            let (waiting, silent) = (try RawPeer(port: server.port), try RawPeer(port: server.port))
            try waiting.send(Self.request("/wait"))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            let second = try RawPeer(port: server.port)
            #expect(try silent.readToEnd().isEmpty)
            #expect(try second.readToEnd().isEmpty)
            server.gate.open()
            #expect(try waiting.answer().status == 200)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
    ])
    func headThatMayBeReadInTwoWaysIsRefused(head: String) async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(head)
            let answer = String(decoding: try peer.readToEnd(), as: UTF8.self)
            #expect(
                answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n") && answer.lowercased().contains("connection: close")
            )
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer: \(answer)")
            #expect(server.requests.all.isEmpty)
        }
    }

    /// Clients of a proxy name the whole address.
    @Test(arguments: [
        ("http://fcm.googleapis.com/v1/a?b=c", "/v1/a", "b=c"), ("HTTPS://[::1]:8443/a/http://b", "/a/http://b", ""),
        ("http://x", "/", ""), ("http://x?a=/b", "/", "a=/b"), ("/http://x/a", "/http://x/a", ""),
    ])
    func absoluteTargetIsServedByItsPath(target: String, path: String, query: String) async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request(target))
            #expect(try peer.answer().status == 200)
            #expect(server.requests.all.map(\.path) == [path] && server.requests.all.map(\.queryText) == [query])
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\nA: \(String(repeating: "a", count: 33_000))\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n\((0..<300).map { "A\($0): b\r\n" }.joined())\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n\((0..<20).map { "A\($0): \(String(repeating: "b", count: 2_000))\r\n" }.joined())\r\n",
    ])
    func headAbove32KiBIsNotServed(head: String) async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(head)
            // The rest that is not read may cost the client the answer.
            let answer = String(decoding: try peer.readToEnd(), as: UTF8.self)
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(server.requests.all.isEmpty)
        }
    }

    @Test func headOf31KiBIsServed() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let line = String(repeating: "a", count: 31_000)
            try peer.send(Self.request("/", "X-Trace: \(line)\r\n"))
            #expect(try peer.answer().status == 200)
        }
    }

    @Test func bodyOfAStrangerIsDropped() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let body = String(repeating: "x", count: 500_000)
            try peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n\(body)")
            #expect(try peer.answer().status == 413)
            #expect(server.requests.all.first?.body.isEmpty == true)
            // All of it was read, so that the connection stays open.
            try peer.send(Self.request(body: "ab"))
            #expect(try peer.answer().body == Array("POST / 2".utf8))
        }
    }

    @Test func keyOfAConnectionIsNotTestedForEachRequest() async throws {
        try await TestServer.run(times: HTTPTimes(knownKey: .hours(1))) { server in
            let peer = try RawPeer(port: server.port)
            for path in ["/a", "/stranger", "/b"] {
                try peer.send(Self.request(path, body: "ab"))
                #expect(try peer.answer().body == Array("POST \(path) 2".utf8))
            }
            #expect(server.keys.all == [TestAnswers.key])
            // Only this key is known.
            try peer.send("POST /c HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\nContent-Length: 1\r\n\r\na")
            #expect(try peer.answer().status == 413)
            #expect(server.keys.all == [TestAnswers.key, "Bearer no"])
        }
    }

    @Test func announcedExcessIsAnsweredAtOnce() async throws {
        try await TestServer.run(times: Self.short) { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request("/", "Content-Length: 50000000\r\n"))
            let answer = try peer.answer()
            #expect(answer.status == 413 && answer.headers["connection"] == "close")
            // A part of the rest is read, so that the client reads the answer.
            try peer.send([UInt8](repeating: 0, count: 500_000))
            #expect(try peer.readToEnd().isEmpty)
        }
    }

    @Test func endlessBodyIsAnsweredAndNotReadToItsEnd() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request("/", "Transfer-Encoding: chunked\r\n"))
            let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 65, count: 65_536) + Array("\r\n".utf8)
            let taken = peer.sendUntilBlocked((0..<1_000).flatMap { _ in chunk })
            #expect(taken < 30_000_000, "\(taken)")
            #expect(server.requests.all.map(\.isBodyTooLarge) == [true])
        }
    }

    @Test func clientThatAsksWhetherToSendIsAnswered() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            let expect = "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            try peer.send("POST /a HTTP/1.1\r\nHost: x\r\nAuthorization: \(TestAnswers.key)\r\n" + expect)
            #expect(try peer.answer().status == 100)
            try peer.send("ab")
            #expect(try peer.answer().body == Array("POST /a 2".utf8))
            // Nothing is asked of a stranger.
            try peer.send("POST /b HTTP/1.1\r\nHost: x\r\n" + expect)
            let answer = try peer.answer()
            #expect(answer.status == 413 && answer.headers["connection"] == "close")
        }
    }

    @Test func connectionsAboveTheLimitAreClosed() async throws {
        try await TestServer.run(maximumConnections: 2) { server in
            let peers = try (0..<2).map { _ in try RawPeer(port: server.port) }
            for peer in peers {
                try peer.send(Self.request())
                #expect(try peer.answer().status == 200)
            }
            #expect(try RawPeer(port: server.port).readToEnd().isEmpty)
            peers[0].end()
            try TestServer.wait("a free place") {
                guard let peer = try? RawPeer(port: server.port), (try? peer.send(Self.request())) != nil else {
                    return false
                }
                return (try? peer.answer().status) == 200
            }
        }
    }

    @Test func socketsInTheHandshakeOfTLSCount() async throws {
        let authority = try CertificateAuthority(commonName: "Test authority", organization: "Fanfare", days: 2)
        let identity = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 2)
        let tls = try TLSServerContext(identity: identity, protocols: ["h2", "http/1.1"])
        try await TestServer.run(maximumConnections: 2, tls: tls) { server in
            let silent = try (0..<2).map { _ in try RawPeer(port: server.port) }
            #expect(try RawPeer(port: server.port).readToEnd().isEmpty)
            for peer in silent { peer.end() }
        }
    }

    @Test func requestsThatWaitAreAnsweredBeforeAStop() async throws {
        try await TestServer.run(times: HTTPTimes(wholeRequest: .hours(1))) { server in
            let (waiting, idle) = (try RawPeer(port: server.port), try RawPeer(port: server.port))
            let (silent, first) = (try RawPeer(port: server.port), try RawPeer(port: server.port))
            try idle.send(Self.request())
            #expect(try idle.answer().status == 200)
            try waiting.send(Self.request("/wait"))
            try TestServer.wait("the request") { server.requests.all.count == 2 }
            server.stop()
            #expect(try idle.readToEnd().isEmpty)
            try first.send(Self.request())
            let only = try first.answer()
            #expect(only.status == 200 && only.headers["connection"] == "close")
            #expect(try silent.readToEnd().isEmpty, "no request, no wait")
            server.gate.open()
            let answer = try waiting.answer()
            #expect(answer.status == 200 && answer.headers["connection"] == "close")
            #expect(try waiting.readToEnd().isEmpty)
        }
    }

    @Test func answerOfASlowReaderIsWholeAfterAStop() async throws {
        try await TestServer.run { server in
            let (slow, idle) = (try RawPeer(port: server.port, receiveBuffer: 4_096), try RawPeer(port: server.port))
            try slow.send(Self.request("/large"))
            #expect(try slow.read(5) == Array("HTTP/".utf8))
            try idle.send(Self.request())
            #expect(try idle.answer().status == 200)
            server.stop()
            #expect(try idle.readToEnd().isEmpty)
            let answer = try slow.answer()
            #expect(answer.status == 200 && answer.body.count == 30_000_000)
        }
    }

    @Test func largeBodyIsAnsweredBesideItsLoop() async throws {
        try await TestServer.run { server in
            defer { server.crossing.signal() }
            let large = try RawPeer(port: server.port)
            try large.send(Self.request("/crossing", body: String(repeating: "A", count: 90_000)))
            // Its answer comes before the responder returns.
            #expect(try large.answer().body == Array("POST /crossing 90000".utf8))
            // Some of these connections have its loop.
            for _ in 0..<8 {
                let peer = try RawPeer(port: server.port)
                try peer.send(Self.request())
                #expect(try peer.answer().status == 200)
            }
        }
    }

    @Test func clientOfALargeBodyThatLeavesEndsItsAnswer() async throws {
        try await TestServer.run { server in
            let peer = try RawPeer(port: server.port)
            try peer.send(Self.request("/wait", body: String(repeating: "A", count: 90_000)))
            try TestServer.wait("the request") { server.requests.all.count == 1 }
            peer.end()
            try TestServer.wait("the server to see it") { server.leaves.all == ["/wait"] }
        }
    }
}
