import FanfareModel
import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Connections that end while requests are in flight. Compares each recipient's result with the requests that arrived;
/// `ConnectionEndingTests` covers the transport's outcomes.
@Suite(.timeLimit(.minutes(10))) struct EndedConnectionTests {
    /// Each delivery mode over each HTTP engine.
    private static let ways = ["at_least_once", "at_most_once"].flatMap { delivery in
        HTTPEngine.allCases.map { Way(delivery: delivery, engine: $0) }
    }

    struct Way: Sendable {
        let delivery: String
        let engine: HTTPEngine
    }

    @Test(arguments: ways, ["long_frame", "all_long_headers", "http1_text", "tcp_reset", "bad_record"])
    func endedConnectionFlagsDuplicatesAndCausesNoneAtMostOnce(way: Way, kind: String) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding(kind, way)
            let results = try await rig.results("ended").sorted { $0.i < $1.i }
            let copies = try peer.copies()
            #expect(results.count == Rig.ended && copies.count == Rig.ended)
            // libcurl 8 passes on the status before it gives up headers that are too long. A status 200 is an answer.
            let answered = results.filter { $0.status == "sent" && $0.maybe_dup != true }
            #expect(answered.isEmpty || kind == "all_long_headers" && answered.count < Rig.ended)
            #expect(answered.allSatisfy { copies[$0.token ?? ""] == 1 && ($0.message_id ?? "") == "" }, "\(copies)")
            if way.delivery == "at_most_once" {
                #expect(job["unknown"] == "\(Rig.ended - answered.count)", "\(job)")
                #expect(copies.values.allSatisfy { $0 == 1 }, "\(copies)")
            } else {
                #expect(job["sent"] == "\(Rig.ended)", "\(job)")
            }
        }
    }

    /// The peer reports that it processed none of the requests. They are sent again in both modes, without a flag.
    @Test(arguments: ways, ["goaway_none", "refused"])
    func requestsTheServerDidNotProcessAreSentAgainUnflagged(way: Way, kind: String) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding(kind, way)
            #expect(job["sent"] == "\(Rig.ended)", "\(job)")
            #expect(try await rig.results("ended").allSatisfy { $0.maybe_dup != true })
            #expect(try peer.copies().values.allSatisfy { $0 == 1 })
        }
    }

    /// A success status counts although its body is lost, even if the reset arrives together with the headers.
    @Test(arguments: ways) func resetAfterASuccessStatusIsSentWithoutAMessageID(way: Way) async throws {
        try await withRig { rig in
            let (peer, job) = try await rig.playEnding("half_body_reset", way)
            #expect(job["sent"] == "\(Rig.ended)", "\(job)")
            let results = try await rig.results("ended")
            #expect(results.allSatisfy { $0.status == "sent" && ($0.message_id ?? "") == "" && $0.maybe_dup != true })
            #expect(try peer.copies().values.allSatisfy { $0 == 1 })
        }
    }
}

extension Rig {
    /// How many recipients have a request in flight when the connection ends.
    fileprivate static let ended = 20

    /// Sends one message over a connection, then ``ended`` more, during which the connection ends.
    fileprivate func playEnding(
        _ kind: String,
        _ way: EndedConnectionTests.Way
    ) async throws -> (peer: HTTPPeer, job: [String: String]) {
        try await startSandbox()
        let count = Self.ended
        let peer = try HTTPPeer(
            certificate: state.appendingPathComponent("tls-cert.pem").path,
            key: state.appendingPathComponent("tls-key.pem").path,
            rules: #"[{"action":"end","kind":"\#(kind)","match":"ended-","gather":\#(count),"times":\#(count)}]"#
        )
        let endpoint = "https://localhost:\(peer.port)"
        try await startWorker(
            try configuration(
                endpoint: endpoint,
                requestTimeoutMs: 20_000,
                project: "http_engine: \(way.engine.rawValue)",
                worker: "max_lanes: 1"
            )
        )
        try await push(["id": "before", "message": hello, "token": "before"])
        try await finished("before")
        let tokens = (0..<count).map { "ended-\($0)" }
        try await push([
            "id": "ended", "message": hello, "tokens": Rig.tokens(tokens), "results": "all", "delivery": way.delivery,
        ])
        return (peer, try await finished("ended", seconds: 90))
    }
}

/// A server in place of FCM (`Tests/Support/Fixtures/peer/peer.py`) that records the requests that arrived.
final class HTTPPeer {
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
    private let (input, output) = (makePipe(), makePipe())

    /// - Parameter protocols: the protocols that the server offers, separated by commas.
    init(certificate: String, key: String, rules: String = "[]", protocols: String = "h2,http/1.1") throws {
        let script = Repository.fixture("peer/peer.py")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [script, "--cert", certificate, "--key", key, "--rules", rules, "--alpn", protocols]
        process.standardInput = input
        process.standardOutput = output
        try startProcess(process)
        let line = String(decoding: Self.line(output), as: UTF8.self)
        port = try #require(Int(line.dropFirst("port ".count)), "the peer printed \(line)")
    }

    // The script exits when its standard input is closed.
    deinit { input.fileHandleForWriting.closeFile() }

    /// How often each `ended` token arrived in a complete request that the server did not refuse.
    func copies() throws -> [String: Int] {
        input.fileHandleForWriting.write(Data("{\"do\":\"ledger\"}\n".utf8))
        let ledger = try JSONDecoder().decode(Ledger.self, from: Self.line(output))
        let processed = ledger.requests.filter { $0.complete && $0.action != "refuse" && $0.body.contains("ended-") }
        return Dictionary(processed.map { (Self.token($0.body), 1) }, uniquingKeysWith: +)
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
