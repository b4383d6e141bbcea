import FanfareModel
import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Workers over nghttp2: what they refuse, and how they share work with workers over libcurl.
@Suite(.timeLimit(.minutes(10))) struct EngineTests {
    @Test func serverWithoutHTTP2IsReportedWithTheRemedy() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let peer = try HTTPPeer(
                certificate: rig.state.appendingPathComponent("tls-cert.pem").path,
                key: rig.state.appendingPathComponent("tls-key.pem").path,
                protocols: "http/1.1"
            )
            let endpoint = "https://localhost:\(peer.port)"
            let worker = try await rig.startWorker(
                try rig.configuration(endpoint: endpoint, extra: "http_engine: nghttp2")
            )
            try await rig.push(["id": "waits", "message": hello, "token": "ended-1"])
            try await Wait.until("the reason of the job") {
                try await rig.job("waits")["reason"]?.contains("set http_engine: curl") == true
            }
            worker.signal(SIGTERM)
            try await rig.startWorker(try rig.configuration(endpoint: endpoint, extra: "http_engine: curl"))
            let job = try await rig.finished("waits", seconds: 120)
            #expect(job["sent"] == "1", "\(job)")
            #expect(try peer.copies() == ["ended-1": 1])
        }
    }

    /// A worker of each engine on one fan-out; the one over nghttp2 is killed in the middle, and another takes over.
    @Test func enginesShareAFanoutAndAKill() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let slow = #"{"match":{"path":"/v1/"},"action":{"delay_ms":100}}"#
            _ = try await rig.control("POST", "/faults", slow)
            let worker = "lease_ms: 3000, renew_ms: 500, max_in_flight: 200"
            let file = try rig.configuration(requestTimeoutMs: 20_000, worker: worker)
            try await rig.startWorker(file, environment: HTTPEngine.curl.variable)
            let victim = try await rig.startWorker(file, environment: HTTPEngine.nghttp2.variable)
            let tokens = (0..<8_000).map { "t-\($0)" }
            try await rig.push(["id": "all", "message": hello, "tokens": Rig.tokens(tokens), "results": "all"])
            try await Wait.until("2000 sends\n\(rig.logs)") { try await rig.stats().sends >= 2_000 }
            victim.signal(SIGKILL)
            try await rig.startWorker(file, environment: HTTPEngine.nghttp2.variable)
            let job = try await rig.finished("all", seconds: 120)
            #expect(job["sent"] == "8000", "\(job)")
            let results = try await rig.results("all")
            #expect(Set(results.map(\.i)).count == 8_000 && results.count == 8_000)
            let flagged = results.count { $0.maybe_dup == true }
            #expect(job["maybe_dup"] == "\(flagged)")
            let stats = try await rig.stats()
            #expect(stats.duplicates <= flagged, "copies without a flag: \(stats.duplicates), flagged \(flagged)")
        }
    }
}
