import FanfareModel
import FanfareRedis
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient

/// The search for a token on a real server.
@Suite struct TokenStoryTests {
    private let keys = ProjectKeys(project: "demo")

    private func withRedis(_ body: (RedisClient, FanfareOperator<RedisClient>) async throws -> Void) async throws {
        let server = try RedisServer()
        defer { server.stop() }
        let redis = try await RedisClient.connect(server.endpoint, patienceMs: 60_000)
        defer { redis.close() }
        try await body(redis, FanfareOperator(redis: redis, project: "demo"))
    }

    private func result(_ token: String, _ index: Int = 0, kind: String = "token") -> String {
        #"{"i":\#(index),"\#(kind)":"\#(token)","status":"sent","message_id":"m","attempts":1}"#
    }

    private func write(_ redis: RedisClient, _ job: String, _ results: String) async throws -> String {
        let reply = try await redis.send(RedisCommand("XADD", keys.results, "*", "job", job, "results", results))
        return try #require(reply.string)
    }

    /// A block of the index that ends with an entry.
    private func block(_ redis: RedisClient, _ id: String, _ tokens: [String], entries: Int) async throws {
        var prints: [UInt8] = []
        for token in tokens { TokenFingerprint(of: token).append(to: &prints) }
        var command = RedisCommand("XADD", keys.fingerprints, id, "entries", "\(entries)", "prints")
        command.append(prints)
        _ = try await redis.send(command)
    }

    @Test func storyHoldsResultsAndFeedbackNewestFirst() async throws {
        try await withRedis { redis, project in
            let failed =
                #"{"i":7,"token":"T","status":"failed","attempts":3,"maybe_dup":true,"error":"UNREGISTERED","raw_error":"U","#
                + #""http_status":404,"action":"remove"}"#
            let one = try await write(redis, "j1", "[\(result("x")),\(result("T", 1))]")
            let two = try await write(redis, "j2", "[\(failed)]")
            _ = try await redis.send(
                RedisCommand("XADD", keys.feedback, "5-1", "token", "T", "action", "remove", "error", "E", "job", "j2")
            )
            _ = try await redis.send(
                RedisCommand("XADD", keys.feedback, "6-1", "token", "T2", "action", "remove", "error", "E", "job", "j2")
            )
            let story = try await project.story(of: "T")
            #expect(story.jobs.map(\.job) == ["j2", "j1"] && story.jobs.map(\.entryID) == [two, one])
            let last = try #require(story.jobs.first)
            #expect(last.index == 7 && last.status == .failed && last.error == "UNREGISTERED" && last.maybeDup)
            #expect(last.action == "remove" && last.attempts == 3 && "\(last.atMs)" == two.prefix { $0 != "-" })
            #expect(story.feedback.map(\.job) == ["j2"] && story.feedback.first?.atMs == 5)
            #expect(story.isWhole && story.cursor == nil)
            #expect(story.keptSinceMs == StreamEntry.milliseconds(ofID: one))
            #expect(story.notes.contains { $0.contains("results=all") })
        }
    }

    @Test func prefixesGroupsAndStrangersAreNotTheToken() async throws {
        try await withRedis { redis, project in
            let long = String(repeating: "a", count: 1_024)
            _ = try await write(redis, "j", "[\(result("aa")),\(result(String(long.dropLast()))),\(result(long, 2))]")
            _ = try await write(redis, "g", "[\(result("a", kind: "group")),\(result("a", kind: "topic"))]")
            _ = try await write(redis, "f", "[\(result("a", kind: "fid"))]")
            _ = try await write(redis, "bad", #"not JSON "a" "#)
            _ = try await redis.send(RedisCommand("XADD", keys.results, "*", "x", "\"a\""))
            _ = try await redis.send(RedisCommand("XADD", keys.feedback, "*", "token", "a"))
            let story = try await project.story(of: "a")
            #expect(story.jobs.map(\.job) == ["f"])
            #expect(story.notes.contains { $0.hasPrefix("2 entries hold the token and cannot be read") })
            #expect(try await project.story(of: long).jobs.map(\.index) == [2])
        }
    }

    @Test func indexSparesEntriesAndOneOfACollisionIsRead() async throws {
        try await withRedis { redis, project in
            var ids: [String] = []
            for number in 0..<6 { ids.append(try await write(redis, "j\(number)", "[\(result("T"))]")) }
            // Of five blocks the second lies: its entry is not read. The third collides.
            for (number, tokens) in [["x"], ["y"], ["T"], ["z", "T"], ["y"]].enumerated() {
                try await block(redis, ids[number], tokens, entries: 1)
            }
            let jobs = try await project.story(of: "T").jobs.map(\.job)
            #expect(jobs == ["j5", "j3", "j2", "j0"], "in no block yet; by the index; the oldest block is always read")
            #expect(try await project.story(of: "other").isEmpty)
        }
    }

    @Test func entriesThatTheIndexLacksAreFound() async throws {
        try await withRedis { redis, project in
            var ids: [String] = []
            for number in 0..<4 {
                ids.append(try await write(redis, "j\(number)", "[\(result(number == 1 ? "T" : "x"))]"))
            }
            // The entry of j1 was written by an older worker: the block counts one entry of two.
            try await block(redis, ids[0], ["x"], entries: 1)
            try await block(redis, ids[2], ["x"], entries: 1)
            try await block(redis, ids[3], ["x"], entries: 1)
            let story = try await project.story(of: "T")
            #expect(story.jobs.map(\.job) == ["j1"] && story.isWhole)
        }
    }

    @Test func boundedSearchGoesOnWithItsCursor() async throws {
        try await withRedis { redis, project in
            var ids: [String] = []
            for number in 0..<700 { ids.append(try await write(redis, "j\(number)", "[\(result("T"))]")) }
            for number in stride(from: 99, to: 600, by: 100) {
                try await block(redis, ids[number], ["T"], entries: 100)
            }
            for (limit, calls) in [(10_000, 4), (30, 100), (1, 10_000)] {
                var (jobs, cursor, rounds) = ([String](), String?.none, 0)
                repeat {
                    let story = try await project.story(of: "T", limit: limit, calls: calls, from: cursor)
                    jobs += story.jobs.map(\.job)
                    #expect(story.isWhole == (story.cursor == nil))
                    if let next = story.cursor {
                        #expect(next != cursor && TokenCursor(next)?.text == next)
                        #expect(story.notes.contains { $0.contains("not searched") })
                    }
                    cursor = story.cursor
                    rounds += 1
                } while cursor != nil && rounds < 800
                #expect(jobs == (0..<700).reversed().map { "j\($0)" }, "\(limit) \(calls)")
                #expect(rounds >= 5)
            }
        }
    }

    @Test func badTokensAndCursorsAreRefused() async throws {
        try await withRedis { _, project in
            for token in ["", "a b", "a\"", "ü", String(repeating: "a", count: 1_025)] {
                await #expect(throws: FanfareClientError.self) { try await project.story(of: token) }
            }
            for cursor in [
                "", "x", "i1-1", "i1_2_f", "i1-1_x_f", "q1-1__f", "i_9999999999999999999_f",
                "i_-9223372036854775808_f", "i_9223372036854775807_f", "___",
            ] {
                await #expect(throws: FanfareClientError.self, "\(cursor)") {
                    try await project.story(of: "T", from: cursor)
                }
            }
            let story = try await project.story(of: "T", from: "__")
            #expect(story.isWhole && story.isEmpty && story.keptSinceMs == nil)
        }
    }

    @Test func everyKnownProjectIsSearched() async throws {
        try await withRedis { redis, _ in
            _ = try await write(redis, "j", "[\(result("T"))]")
            _ = try await redis.send(RedisCommand("SADD", ProjectKeys.projects(), "demo", "empty", "NOT AN ID"))
            let stories = try await FanfareOperator.stories(of: "T", redis: redis, projects: ["configured"])
            #expect(stories.map(\.project) == ["configured", "demo", "empty"])
            #expect(stories.map(\.jobs.count) == [0, 1, 0])
        }
    }

    @Test func jsonMasksTokensUnlessAskedFor() {
        var story = TokenStory(project: "p")
        story.feedback = [
            .init(action: .replace, replacement: "canon-0123456789", error: nil, job: "j", atMs: 1, entryID: "1-0")
        ]
        #expect(!"\(story.json(showsTokens: false))".contains("canon-0123456789"))
        #expect("\(story.json(showsTokens: true))".contains("canon-0123456789"))
        #expect(TokenStory.masked("canon-0123456789") == "canon-…[16 characters]")
    }
}
