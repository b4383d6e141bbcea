import FanfareClient
import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Transports other than JSON over HTTP: plain text, and XMPP with its upstream messages.
@Suite struct TransportTests {
    @Test func plainTextBodyIsOneRequestPerToken() async throws {
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

    @Test func xmppReportsTheSameResultsAsHTTP() async throws {
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

    @Test func upstreamMessagesAndReceiptsAreWrittenWithTheirSender() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            _ = try await rig.control(
                "POST",
                "/upstream",
                #"{"from":"device-1","category":"com.example.app","data":{"score":"7"},"ttl":600}"#
            )
            try await Wait.until("the message, without any send") {
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
                // The number in a message id starts at a random value, so that the ids of two processes differ.
                let nonce = receipt["original_message_id"]?.split(separator: "/").last ?? ""
                #expect(nonce.count > 8, "\(receipt)")
            }
        }
    }

    /// The XMPP reference gives the data of messages and receipts the type string.
    @Test func stringDataIsStoredAndReadByTheClient() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            _ = try await rig.control("POST", "/devices", #"{"token":"d-0","receipts":"string"}"#)
            _ = try await rig.control("POST", "/upstream", #"{"from":"d-1","data":"level \"7\" done","ttl":600}"#)
            try await rig.push([
                "id": "asked", "format": "legacy", "token": "d-0",
                "message": #"{"data":{"k":"v"},"delivery_receipt_requested":true}"#,
            ])
            try await Wait.until("the message and the receipt\n\(rig.logs)") {
                try await rig.entries("upstream").count == 2
            }
            let consumer = FanfareConsumer(redis: rig.client, project: "demo", group: "app", consumer: "one")
            try await consumer.createUpstreamGroup()
            var entries: [UpstreamEntry] = []
            try await consumer.readUpstream { entries.append($0) }
            let message = try #require(entries.first { $0.receipt == nil })
            #expect(message.from == "d-1" && message.dataJSON == #""level \"7\" done""#)
            let receipt = try #require(entries.first { $0.receipt != nil })
            #expect(receipt.receipt?.status == "MESSAGE_SENT_TO_DEVICE" && receipt.receipt?.token == "d-0")
            #expect(receipt.receipt?.job == "asked" && receipt.receipt?.index == 0)
            #expect(receipt.dataJSON.hasPrefix("{") && receipt.dataJSON.contains(#""device_registration_id":"d-0""#))
            try await Wait.until("both acknowledgements") { try await rig.xmppStats().upstream_acked == 2 }
        }
    }

    /// FCM does not repeat a message on an open connection, and stops at 100 unacknowledged messages.
    @Test func upstreamMessagesRefusedByRedisAreWrittenAndAcknowledgedLater() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(transport: "xmpp", project: try rig.xmppSettings)
            let worker = try await rig.startWorker(configuration)
            try await Wait.until("a connection") { try await rig.xmppStats().open == 1 }
            func sendUpstream(_ devices: Range<Int>) async throws {
                for device in devices {
                    let body = #"{"from":"device-\#(device)","category":"com.example.app","data":{"k":"v"},"ttl":600}"#
                    _ = try await rig.control("POST", "/upstream", body)
                }
            }
            func senders() async throws -> Int {
                Set(try await rig.entries("upstream").compactMap { $0["from"] }).count
            }

            // Redis refuses to write.
            try rig.redis.cli("CONFIG", "SET", "maxmemory", "1mb")
            try await sendUpstream(0..<150)
            try await Wait.until("a full window\n\(rig.logs)") {
                try await rig.xmppStats().upstream_unacked == 100
            }
            try await Wait.until("the failure in the log: \(worker.stderr)") {
                worker.stderr.contains("Upstream messages could not be written.")
            }
            #expect(try await rig.xmppStats().upstream_acked == 0)
            try rig.redis.cli("CONFIG", "SET", "maxmemory", "0")
            try await Wait.until("the refused messages and the messages after them\n\(rig.logs)") {
                try await senders() == 150
            }

            // Redis is down.
            rig.redis.kill9()
            try await sendUpstream(150..<300)
            try await Wait.until("a full window") { try await rig.xmppStats().upstream_unacked == 100 }
            try rig.redis.restart()
            try await rig.connect(to: rig.redis)
            try await Wait.until("the messages sent while Redis was down\n\(rig.logs)") { try await senders() == 300 }
            try await Wait.until("all acknowledgements") { try await rig.xmppStats().upstream_unacked == 0 }
            let stats = try await rig.xmppStats()
            // Each message was sent once, on one connection.
            #expect(stats.upstream_sent == 300 && stats.upstream_acked == 300 && stats.open == 1, "\(stats)")
        }
    }

    /// A project that only receives makes no sends that could try its key again.
    @Test func refusedServerKeyIsRetriedWithoutSends() async throws {
        try await withRig { rig in
            var (port, started): (Int, ChildProcess?) = (0, nil)
            // Another test may take a free port before the sandbox binds it.
            for _ in 0..<3 where started == nil {
                port = Int(try RedisServer.freePort())
                started = try? await rig.startSandbox(["--xmpp-port", "\(port)"])
            }
            let sandbox = try #require(started)
            #expect(rig.xmppPort == port)
            let configuration = try rig.configuration(transport: "xmpp", project: try rig.xmppSettings)
            let text = try String(contentsOfFile: configuration, encoding: .utf8)
            let key = "AAAA-known-to-the-sandbox-later"
            let file = rig.directory.appendingPathComponent("early-key").path
            try key.write(toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let sandboxKey = "\(rig.state.path)/server-key-demo"
            try text.replacingOccurrences(of: sandboxKey, with: file)
                .write(toFile: configuration, atomically: true, encoding: .utf8)
            let worker = try await rig.startWorker(configuration)
            try await worker.logged("FCM refuses this project over XMPP")

            sandbox.signal(SIGTERM)
            _ = try await sandbox.wait(seconds: 30)
            try key.write(toFile: sandboxKey, atomically: false, encoding: .utf8)
            try await rig.startSandbox(["--xmpp-port", "\(port)"])
            _ = try await rig.control("POST", "/upstream", #"{"from":"device-1","data":{"k":"v"},"ttl":600}"#)
            // The pause after a refusal is 30 to 60 seconds.
            try await Wait.until("the message\n\(rig.logs)", seconds: 100) {
                try await rig.entries("upstream").contains { $0["from"] == "device-1" }
            }
            try await worker.logged("FCM accepts sender_id and the server key again.")
            try await rig.push(["id": "x", "message": hello, "token": "a"])
            #expect(try await rig.finished("x")["sent"] == "1")
        }
    }

    /// FCM drains one connection and cuts another. Messages that FCM reported as not processed go to another connection
    /// at once; unanswered ones are sent again and flagged.
    @Test func drainedOrBrokenConnectionsLoseNoSends() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            let tokens = (0..<400).map { "sbx-slow-300-\($0)" }
            try await rig.push(["id": "drained", "message": hello, "tokens": Rig.tokens(tokens), "results": "all"])
            try await Wait.until("sends in flight") { try await rig.stats().sends > 50 }
            _ = try await rig.control("POST", "/drain")
            let drained = try await rig.finished("drained")
            #expect(drained["sent"] == "400", "\(drained)")
            #expect(try await rig.results("drained").allSatisfy { $0.maybe_dup != true })
            #expect(try await rig.stats().duplicates == 0)

            let others = (0..<300).map { "sbx-slow-301-\($0)" }
            let before = try await rig.stats().sends
            try await rig.push(["id": "cut", "message": hello, "tokens": Rig.tokens(others), "results": "all"])
            try await Wait.until("sends in flight") { try await rig.stats().sends > before + 50 }
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

    @Test func wrongServerKeyBlocksTheProjectWithItsReason() async throws {
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

extension Rig {
    struct XMPPStats: Decodable {
        var open: Int
        var upstream_sent: Int
        var upstream_acked: Int
        var upstream_unacked: Int
    }

    /// The sandbox's statistics of its XMPP connections.
    func xmppStats() async throws -> XMPPStats {
        struct Report: Decodable { var xmpp: XMPPStats }
        return try JSONDecoder().decode(Report.self, from: try await control("GET", "/stats")).xmpp
    }
}
