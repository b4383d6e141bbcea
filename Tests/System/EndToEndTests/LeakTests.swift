import FanfareModel
import Foundation
import TestSupport
import Testing

/// A worker from its start to the end of its drain. `ops/dev/sanitize leaks` runs it with the leak detector, which prints
/// a report and makes the worker exit with an error.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["FANFARE_SANITIZER"] == "address"))
struct LeakTests {
    @Test(arguments: [
        ("v1", HTTPEngine.curl), ("v1", .nghttp2), ("legacy", .curl), ("legacy", .nghttp2), ("xmpp", .curl),
    ])
    func workerFreesItsMemoryByTheEndOfItsDrain(transport: String, engine: HTTPEngine) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : ""
            let file = try rig.configuration(transport: transport, project: settings)
            let worker = try await rig.startWorker(file, environment: engine.variable)
            // A lost answer ends an XMPP connection with everything in flight on it; the recovery takes minutes.
            let lost = transport == "xmpp" ? "" : "sbx-lost-1-"
            let kinds = ["", "sbx-unregistered-", "sbx-unavailable-1-", lost, "sbx-slow-50-"]
            let tokens = (0..<2_000).map { "\(kinds[$0 % 50 < 5 ? $0 % 5 : 0])token-\($0)" }
            try await rig.push(["id": "all", "message": #"{"data":{"k":"v"}}"#, "tokens": Rig.tokens(tokens)])
            try await rig.push(["id": "bad", "message": "{", "token": "t"])
            try await rig.finished("all", seconds: 240)
            worker.signal(SIGTERM)
            #expect(try await worker.wait(seconds: 120) == 0, "\(worker.stderr.suffix(4_000))")
        }
    }
}
