import FanfareClient
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A consumer group on a real server: every entry once, and again if it was not handled.
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

    @Test func whatWasNotHandledComesAgainToTheSameConsumer() async throws {
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

    @Test func whatNoWorkerWroteIsToldAndPassedOver() async throws {
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

    @Test func moreThanAPageIsRead() async throws {
        try await withStreams { server, one, _ in
            try await one.createGroups()
            let script = "for n = 0, 100 do redis.call('XADD', KEYS[1], '*', 'job', 'j' .. n, 'results', '[]') end"
            try server.cli("EVAL", script, "1", "fanfare:{demo}:results")
            var jobs: [String] = []
            try await one.readResults { jobs.append($0.job) }
            #expect(jobs == (0..<101).map { "j\($0)" })
        }
    }

    @Test func feedbackNamesWhatToForgetAndWhatToReplace() async throws {
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

    @Test func aGroupThatIsNotThereIsAnError() async throws {
        try await withStreams { _, one, _ in
            await #expect(throws: RedisError.self) { try await one.readResults { _ in } }
        }
    }
}
