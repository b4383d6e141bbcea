import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Redis refuses a command, or a key has the wrong type, while a worker sends.
@Suite struct RedisErrorTests {
    private static let count = 3_000
    private static let base = "fanfare:{demo}:"

    /// Expects a result for every recipient, correct counters and no remaining keys.
    private func audit(_ rig: Rig) async throws {
        let job = try await rig.finished("all")
        #expect(job["sent"] == "\(Self.count)" && job["retrying"] == "0" && job["state"] == "done")
        let results = try await rig.results("all")
        #expect(Set(results.map(\.i)) == Set(0..<Self.count), "an entry may occur twice, and no result is missing")
        #expect(results.allSatisfy { $0.status == "sent" })
        #expect(try await rig.stats().duplicates == 0)
        #expect(try await rig.privateKeys().isEmpty)
        let tally = try await rig.client.send(RedisCommand("HGET", Self.base + "tally", "sent")).string
        #expect(tally == "\(Self.count)")
        let left = try await rig.client.send(RedisCommand("HGET", Self.base + "ctl", "left")).string
        #expect(left == "0")
    }

    private func fanout(_ rig: Rig) async throws -> ChildProcess {
        try await rig.startSandbox()
        let worker = try await rig.startWorker(try rig.configuration())
        let tokens = Rig.tokens((0..<Self.count).map { "t\($0)" })
        try await rig.push(["id": "all", "message": #"{"data":{"k":"v"}}"#, "tokens": tokens, "results": "all"])
        try await Wait.until("the first results") { Int(try await rig.job("all")["sent"] ?? "0") ?? 0 > 0 }
        return worker
    }

    @Test func resultsSurviveARevokedPermission() async throws {
        try await withRig { rig in
            let worker = try await fanout(rig)
            _ = try await rig.client.send(RedisCommand("ACL", "SETUSER", "default", "-xadd"))
            try await worker.logged("may not run a command that Fanfare needs")
            #expect(try await rig.job("all")["state"] != "done")
            _ = try await rig.client.send(RedisCommand("ACL", "SETUSER", "default", "+xadd"))
            try await audit(rig)
        }
    }

    @Test func resultsSurviveAStreamOfTheWrongType() async throws {
        try await withRig { rig in
            let worker = try await fanout(rig)
            // In one transaction: a write of the worker in between would be overwritten.
            for command in [
                RedisCommand("MULTI"), RedisCommand("RENAME", Self.base + "results", Self.base + "aside"),
                RedisCommand("SET", Self.base + "results", "not a stream"), RedisCommand("EXEC"),
            ] { _ = try await rig.client.send(command) }
            try await worker.logged("has the wrong type")
            _ = try await rig.client.send(RedisCommand("RENAME", Self.base + "aside", Self.base + "results"))
            try await audit(rig)
        }
    }

    @Test func rejectionWaitsUntilItCanBeWritten() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let worker = try await rig.startWorker(try rig.configuration())
            _ = try await rig.client.send(RedisCommand("SET", Self.base + "dead", "not a stream"))
            try await rig.push(["id": "bad", "message": "no JSON", "tokens": #"["t"]"#])
            try await worker.logged("the entry stays in `jobs`")
            #expect(try await rig.length("jobs") == 1)
            _ = try await rig.client.send(RedisCommand("DEL", Self.base + "dead"))
            try await Wait.until("the rejection") { try await rig.job("bad")["state"] == "rejected" }
            #expect(try await rig.entries("dead").map { $0["job"] ?? "" } == ["bad"])
            #expect(try await rig.length("jobs") == 0)
        }
    }
}
