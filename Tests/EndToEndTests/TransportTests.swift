import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Sends that travel otherwise than as JSON over HTTP.
@Suite struct TransportTests {
    @Test func plainTextIsOneRequestForEachToken() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy", project: "legacy_body: text"))
            let tokens = ["a", "sbx-unregistered-b", "sbx-canonical-c", "sbx-invalid-d"]
            try await rig.push([
                "id": "text", "format": "legacy", "message": #"{"data":{"k":"v & w"},"time_to_live":60}"#,
                "tokens": Rig.tokens(tokens),
            ])
            try await rig.finished("text")
            let results = try await rig.results("text").sorted { $0.i < $1.i }
            #expect(results.map(\.status) == ["sent", "failed", "sent", "failed"])
            #expect(results[1].error == "UNREGISTERED" && results[3].error == "INVALID_ARGUMENT")
            #expect(results[2].canonical == "canon-c")
            let delivered = String(decoding: try await rig.control("GET", "/deliveries?token=a"), as: UTF8.self)
            #expect(delivered.contains("v & w"))

            try await rig.push(["id": "shown", "message": hello, "token": "a"])
            let rejected = try await rig.finished("shown")
            #expect(rejected["state"] == "rejected")
            #expect(rejected["reason"]?.contains("notification") == true, "\(rejected)")
        }
    }

    @Test func xmppHasTheSameResults() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            var tokens = (0..<1_200).map { "device-\($0)" }
            tokens[3] = "sbx-unregistered-3"
            tokens[4] = "sbx-invalid-4"
            tokens[5] = "sbx-mismatch-5"
            tokens[6] = "sbx-auth-6"
            try await rig.push(["id": "x", "message": hello, "tokens": Rig.tokens(tokens), "results": "all"])
            let job = try await rig.finished("x")
            #expect(job["sent"] == "1196" && job["failed"] == "4", "\(job)")
            let results = try await rig.results("x").sorted { $0.i < $1.i }
            #expect(
                results[3...6].map { "\($0.error ?? "") \($0.action ?? "")" } == [
                    "UNREGISTERED remove", "INVALID_ARGUMENT remove", "SENDER_ID_MISMATCH fix_credentials",
                    "THIRD_PARTY_AUTH_ERROR fix_credentials",
                ]
            )
            #expect(try await rig.stats().duplicates == 0)
            #expect(results.allSatisfy { $0.maybe_dup != true && $0.attempts == 1 })
        }
    }

    @Test func upstreamMessagesAndReceiptsReachTheStreamAndAreNamed() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            _ = try await rig.control(
                "POST",
                "/upstream",
                #"{"from":"device-1","category":"com.example.app","data":{"score":"7"},"ttl":600}"#
            )
            try await Wait.until("the message, though nothing is sent") {
                try await rig.entries("upstream").contains { $0["type"] == "message" }
            }
            let message = try #require(try await rig.entries("upstream").first)
            #expect(message["from"] == "device-1" && message["category"] == "com.example.app")
            #expect(message["data"]?.contains("score") == true)
            #expect(Int64(message["received_ms"] ?? "") != nil)
            try await rig.push([
                "id": "asked", "format": "legacy", "tokens": Rig.tokens(["d-0", "d-1"]),
                "message": #"{"data":{"k":"v"},"delivery_receipt_requested":true}"#,
            ])
            try await rig.finished("asked")
            try await Wait.until("a receipt of each") {
                Set(try await rig.entries("upstream").filter { $0["type"] == "receipt" }.compactMap { $0["i"] })
                    == ["0", "1"]
            }
            let receipts = try await rig.entries("upstream").filter { $0["type"] == "receipt" }
            for receipt in receipts {
                #expect(receipt["job"] == "asked" && receipt["status"] == "MESSAGE_SENT_TO_DEVICE")
                #expect(receipt["token"] == "d-\(receipt["i"] ?? "")")
            }
        }
    }

    /// Connections that FCM drains or cuts: what it said it did not take goes elsewhere at once, what nobody answered is
    /// sent again and says so.
    @Test func nothingIsLostWhenConnectionsDrainOrBreak() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            let tokens = (0..<400).map { "sbx-slow-300-\($0)" }
            try await rig.push(["id": "drained", "message": hello, "tokens": Rig.tokens(tokens), "results": "all"])
            try await Wait.until("some to be on the way") { try await rig.stats().sends > 50 }
            _ = try await rig.control("POST", "/drain")
            let drained = try await rig.finished("drained")
            #expect(drained["sent"] == "400", "\(drained)")
            #expect(try await rig.results("drained").allSatisfy { $0.maybe_dup != true })
            #expect(try await rig.stats().duplicates == 0)

            let others = (0..<300).map { "sbx-slow-301-\($0)" }
            let before = try await rig.stats().sends
            try await rig.push(["id": "cut", "message": hello, "tokens": Rig.tokens(others), "results": "all"])
            try await Wait.until("some to be on the way") { try await rig.stats().sends > before + 50 }
            _ = try await rig.control(
                "POST",
                "/faults",
                #"{"match":{"path":"xmpp"},"action":{"close":true},"times":1}"#
            )
            let cut = try await rig.finished("cut", seconds: 90)
            #expect(cut["sent"] == "300", "\(cut)")
            let flagged = try await rig.results("cut").filter { $0.maybe_dup == true }.count
            let duplicates = try await rig.stats().duplicates
            #expect(flagged >= duplicates, "\(duplicates) duplicates, \(flagged) flagged")
            #expect(duplicates <= 1_000)
        }
    }

    @Test func aWrongKeyBlocksTheProjectAndSaysWhy() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(transport: "xmpp", project: try rig.xmppSettings)
            let text = try String(contentsOfFile: configuration, encoding: .utf8)
            let key = rig.directory.appendingPathComponent("wrong-key").path
            try "AAAA-wrong".write(toFile: key, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            try text.replacingOccurrences(of: "\(rig.state.path)/server-key-demo", with: key)
                .write(toFile: configuration, atomically: true, encoding: .utf8)
            let worker = try await rig.startWorker(configuration)
            try await rig.push(["id": "x", "message": hello, "token": "a"])
            try await Wait.until("the job to be paused: \(worker.stderr)") {
                try await rig.job("x")["state"] == "paused"
            }
            #expect(worker.stderr.contains("sender_id"))
            #expect(!worker.stderr.contains("AAAA-wrong"))
        }
    }
}
