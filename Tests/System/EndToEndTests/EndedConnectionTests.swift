import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// A connection that ends under requests that FCM has taken. What happens to the transport's outcome is shown by
/// ConnectionEndingTests; here every recipient's result is compared with what arrived.
@Suite(.timeLimit(.minutes(3))) struct EndedConnectionTests {
    private static let modes = ["at_least_once", "at_most_once"]

    @Test(arguments: modes, ["long_frame", "all_long_headers", "http1_text", "tcp_reset", "bad_record"])
    func everySecondCopyIsFlaggedAndAtMostOnceHasNone(delivery: String, kind: String) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding(kind, delivery: delivery)
            let results = try await rig.results("ended").sorted { $0.i < $1.i }
            let copies = try peer.copies()
            #expect(results.count == Rig.ended && copies.count == Rig.ended)
            if delivery == "at_most_once" {
                #expect(job["unknown"] == "\(Rig.ended)", "\(job)")
                #expect(copies.values.allSatisfy { $0 == 1 }, "\(copies)")
            } else {
                #expect(job["sent"] == "\(Rig.ended)", "\(job)")
                #expect(results.allSatisfy { $0.maybe_dup == true })
            }
        }
    }

    /// The peer says that it did nothing, so they are sent once more in either mode, and nothing is flagged.
    @Test(arguments: modes, ["goaway_none", "refused"])
    func whatTheServerDisownedIsSentAgainWithoutAFlag(delivery: String, kind: String) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding(kind, delivery: delivery)
            #expect(job["sent"] == "\(Rig.ended)", "\(job)")
            #expect(try await rig.results("ended").allSatisfy { $0.maybe_dup != true })
            #expect(try peer.copies().values.allSatisfy { $0 == 1 })
        }
    }

    /// A success whose body is lost is one, also where the reset that takes the body comes with the headers.
    @Test(arguments: modes) func aResetBehindAStatusIsASendWithoutAnID(delivery: String) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding("half_body_reset", delivery: delivery)
            #expect(job["sent"] == "\(Rig.ended)", "\(job)")
            let results = try await rig.results("ended")
            #expect(results.allSatisfy { $0.status == "sent" && ($0.message_id ?? "") == "" && $0.maybe_dup != true })
            #expect(try peer.copies().values.allSatisfy { $0 == 1 })
        }
    }
}

extension Rig {
    /// Recipients whose connection ends.
    fileprivate static let ended = 20

    /// Sends one message over a connection, then as many as end with it.
    fileprivate func playEnding(
        _ kind: String,
        delivery: String
    ) async throws -> (peer: HTTP2Peer, job: [String: String]) {
        try await startSandbox()
        let count = Self.ended
        let peer = try HTTP2Peer(
            certificate: state.appendingPathComponent("tls-cert.pem").path,
            key: state.appendingPathComponent("tls-key.pem").path,
            rules: #"[{"action":"end","kind":"\#(kind)","match":"ended-","gather":\#(count),"times":\#(count)}]"#
        )
        let endpoint = "https://localhost:\(peer.port)"
        try await startWorker(try configuration(endpoint: endpoint, requestTimeoutMs: 20_000, worker: "max_lanes: 1"))
        try await push(["id": "before", "message": hello, "token": "before"])
        try await finished("before")
        let tokens = (0..<count).map { "ended-\($0)" }
        try await push([
            "id": "ended", "message": hello, "tokens": Rig.tokens(tokens), "results": "all", "delivery": delivery,
        ])
        return (peer, try await finished("ended", seconds: 90))
    }
}

/// Tests/Support/Fixtures/peer/peer.py in FCM's place: it counts what arrived.
private final class HTTP2Peer {
    private struct Ledger: Decodable {
        struct Entry: Decodable {
            let body: String
            let complete: Bool
            let action: String
        }
        let requests: [Entry]
    }

    let port: Int
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init(certificate: String, key: String, rules: String) throws {
        let script = Repository.fixture("peer/peer.py")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [script, "--cert", certificate, "--key", key, "--rules", rules]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: Self.line(output), as: UTF8.self)
        port = try #require(Int(line.dropFirst("port ".count)), "the peer said \(line)")
    }

    // It ends with its standard input.
    deinit { input.fileHandleForWriting.closeFile() }

    /// How often each `ended` token arrived in full and was not disowned.
    func copies() throws -> [String: Int] {
        input.fileHandleForWriting.write(Data("{\"do\":\"ledger\"}\n".utf8))
        let ledger = try JSONDecoder().decode(Ledger.self, from: Self.line(output))
        let taken = ledger.requests.filter { $0.complete && $0.action != "refuse" && $0.body.contains("ended-") }
        return Dictionary(taken.map { (Self.token($0.body), 1) }, uniquingKeysWith: +)
    }

    private static func token(_ body: String) -> String {
        guard let start = body.range(of: "ended-") else { return body }
        return String(body[start.lowerBound...].prefix { $0 != "\"" })
    }

    private static func line(_ pipe: Pipe) -> Data {
        var bytes = Data()
        while bytes.last != UInt8(ascii: "\n") {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            bytes += more
        }
        return bytes.dropLast()
    }
}
