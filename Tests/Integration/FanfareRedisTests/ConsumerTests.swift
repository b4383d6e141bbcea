import FanfareClient
import FanfareJSON
import FanfareModel
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A consumer group on a real server.
@Suite struct ConsumerTests {
    private struct Broken: Error {}

    private func withStreams(
        _ body: (RedisServer, FanfareConsumer<RedisClient>, FanfareConsumer<RedisClient>) async throws -> Void
    ) async throws {
        let server = try RedisServer()
        defer { server.stop() }
        let redis = try await RedisClient.connect(server.endpoint, patienceMs: 60_000)
        defer { redis.close() }
        func consumer(_ name: String) -> FanfareConsumer<RedisClient> {
            FanfareConsumer(redis: redis, project: "demo", group: "g", consumer: name)
        }
        try await body(server, consumer("one"), consumer("two"))
    }

    private func write(_ server: RedisServer, job: String) throws {
        try server.cli(
            "XADD",
            "fanfare:{demo}:results",
            "*",
            "job",
            job,
            "results",
            #"[{"i":0,"token":"a","status":"sent","message_id":"m","attempts":1}]"#
        )
    }

    @Test func unhandledEntryIsDeliveredAgainToItsConsumer() async throws {
        try await withStreams { server, one, two in
            // Written before there is a group: it is from the beginning.
            try write(server, job: "j1")
            try await one.createGroups()
            try await two.createGroups()
            try write(server, job: "j2")
            await #expect(throws: Broken.self) { try await one.readResults { _ in throw Broken() } }
            // Both were handed to the first one.
            let others = try await two.readResults { _ in }
            #expect(others == 0)
            var jobs: [String] = []
            let count = try await one.readResults { jobs.append($0.job) }
            #expect(count == 2 && jobs == ["j1", "j2"])
            let again = try await one.readResults { _ in }
            #expect(again == 0)
            let groups = try server.cli("XINFO", "GROUPS", "fanfare:{demo}:results")
            #expect(groups.contains("pending\n0\n"), "\(groups)")
        }
    }

    @Test func unreadableEntryIsReportedAndSkipped() async throws {
        try await withStreams { server, one, _ in
            try await one.createGroups()
            try server.cli("XADD", "fanfare:{demo}:results", "7-1", "job", "j0", "results", "{")
            try write(server, job: "j1")
            await #expect(throws: FanfareClientError.self) { try await one.readResults { _ in } }
            var (jobs, told) = ([String](), [String]())
            let count = try await one.readResults(unreadable: { told.append("\($0)") }) { jobs.append($0.job) }
            #expect(count == 2 && jobs == ["j1"])
            #expect(told.count == 1 && told.allSatisfy { $0.contains("7-1") })
            let again = try await one.readResults { _ in }
            #expect(again == 0)
        }
    }

    @Test func consumerReadsAllPages() async throws {
        try await withStreams { server, one, _ in
            try await one.createGroups()
            let script = "for n = 0, 100 do redis.call('XADD', KEYS[1], '*', 'job', 'j' .. n, 'results', '[]') end"
            try server.cli("EVAL", script, "1", "fanfare:{demo}:results")
            var jobs: [String] = []
            try await one.readResults { jobs.append($0.job) }
            #expect(jobs == (0..<101).map { "j\($0)" })
        }
    }

    @Test func feedbackNamesRecipientsToRemoveAndReplace() async throws {
        try await withStreams { server, one, _ in
            try await one.createGroups()
            let stream = "fanfare:{demo}:feedback"
            try server.cli(
                "XADD",
                stream,
                "*",
                "token",
                "a",
                "action",
                "remove",
                "replacement",
                "",
                "error",
                "UNREGISTERED",
                "job",
                "j"
            )
            try server.cli(
                "XADD",
                stream,
                "*",
                "fid",
                "b",
                "action",
                "replace",
                "replacement",
                "c",
                "error",
                "",
                "job",
                "j"
            )
            var entries: [FeedbackEntry] = []
            try await one.readFeedback { entries.append($0) }
            try #require(entries.count == 2)
            #expect(entries[0].recipient == "a" && entries[0].kind == .token && entries[0].action == .remove)
            #expect(entries[0].error == "UNREGISTERED" && entries[0].replacement == nil && entries[0].job == "j")
            #expect(entries[1].recipient == "b" && entries[1].kind == .fid && entries[1].action == .replace)
            #expect(entries[1].replacement == "c" && entries[1].error == nil)
        }
    }

    @Test func upstreamEntriesKeepTheirData() async throws {
        try await withStreams { server, one, _ in
            try await one.createUpstreamGroup()
            try await one.createUpstreamGroup()
            func write(_ fields: String...) throws {
                try server.cli(["XADD", "fanfare:{demo}:upstream", "*"] + fields)
            }
            let head = ["type", "message", "from", "a:b", "category", "com.example.app", "message_id", "u-1"]
            for data in [#"{"k":"v"}"#, #""level \"7\"""#, "null"] {
                try server.cli(["XADD", "fanfare:{demo}:upstream", "*"] + head + ["data", data, "received_ms", "17"])
            }
            let receipt = [
                "type", "receipt", "from", "gcm.googleapis.com", "category", "", "message_id", "dr2:j/4/1/a", "data",
                "{}",
                "received_ms", "18", "status", "S", "original_message_id", "j/4/1/a", "token", "t",
            ]
            try server.cli(["XADD", "fanfare:{demo}:upstream", "*"] + receipt + ["job", "j", "i", "4"])
            try server.cli(["XADD", "fanfare:{demo}:upstream", "*"] + receipt)
            try write("type", "message", "from", "a", "message_id", "broken", "data", "{")
            var (entries, told) = ([UpstreamEntry](), [String]())
            let count = try await one.readUpstream(unreadable: { told.append("\($0)") }) { entries.append($0) }
            #expect(count == 6 && told.count == 1)
            try #require(entries.count == 5)
            #expect(entries.prefix(3).map(\.data) == [.object(["k": "v"]), .string(#"level "7""#), .null])
            #expect(entries[0].from == "a:b" && entries[0].category == "com.example.app")
            #expect(entries[0].messageID == "u-1" && entries[0].receivedMs == 17 && entries[0].receipt == nil)
            let read = try #require(entries[3].receipt)
            #expect(read.status == "S" && read.originalMessageID == "j/4/1/a" && read.token == "t")
            #expect(read.job == "j" && read.index == 4)
            #expect(entries[4].receipt?.job == nil && entries[4].receipt?.index == nil)
        }
    }

    @Test func missingGroupIsAnError() async throws {
        try await withStreams { _, one, _ in
            await #expect(throws: RedisError.self) { try await one.readResults { _ in } }
        }
    }
}
