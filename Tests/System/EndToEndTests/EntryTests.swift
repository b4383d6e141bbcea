import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Reading of job streams: large entries, entries of dead readers, entries that fail.
@Suite struct EntryTests {
    private static let message = #"{"data":{"k":"v"}}"#
    /// 100,000 tokens, 16 MB in all.
    private static let manyTokens = Rig.tokens(
        (0..<100_000).map { String(repeating: "x", count: 155) + String($0 + 10_000_000) }
    )

    /// One read of all these entries would exceed the worker's memory limit. With a few more entries it would also
    /// exceed the maximum size of a Redis reply.
    @Test func largeEntriesAreReadOneByOne() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let (tokens, jobs) = (Self.manyTokens, 12)
            for job in 0..<jobs {
                try await rig.push(["id": "large-\(job)", "message": Self.message, "tokens": tokens])
            }
            let worker = try await rig.startWorker(try rig.configuration())
            try await Wait.until("intake of all entries\n\(rig.logs)", seconds: 120) {
                try await rig.length("jobs") == 0
            }
            for job in 0..<jobs { #expect(try await rig.job("large-\(job)")["total"] == "100000") }
            let peak = try peakMB(of: worker.pid)
            #expect(!worker.stderr.contains("cannot be read together"), "the entries were requested in one read")
            print("\(jobs) entries of \(tokens.utf8.count / 1_000_000) MB: the worker's peak memory was \(peak) MB")
            #expect(peak < 300, "all entries together have \(jobs * tokens.utf8.count / 1_000_000) MB")
        }
    }

    @Test func entriesOfADeadReaderAreTakenOver() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let stream = "fanfare:{\(rig.project)}:jobs"
            let group = RedisCommand("XGROUP", "CREATE", stream, ProjectKeys.group, "0", "MKSTREAM")
            _ = try await rig.client.send(group)
            let count = 150
            for job in 0..<count {
                try await rig.push(["id": "job-\(job)", "message": Self.message, "token": "token-\(job)"])
            }
            let read = command(["XREADGROUP", "GROUP", ProjectKeys.group, "dead-reader", "STREAMS", stream, ">"])
            let entries = StreamEntry.byStream(try await rig.client.send(read))[0].entries
            try #require(entries.count == count)
            // These pending entries were deleted by hand. Entries after them must still be taken over.
            let deleted = Array(0..<3) + [77]
            for job in deleted { _ = try await rig.client.send(RedisCommand("XDEL", stream, entries[job].id)) }

            try await rig.startWorker(try rig.configuration(worker: "lease_ms: 1500, renew_ms: 300"))
            for job in 0..<count where !deleted.contains(job) { try await rig.finished("job-\(job)") }
            #expect(try await rig.stats().sends == count - deleted.count)
            let pending = RedisCommand("XPENDING", stream, ProjectKeys.group)
            try await Wait.until("nothing to be pending") {
                try await rig.client.send(pending).array?.first?.integer == 0
            }
        }
    }

    /// Redis refuses the first of several entries for a while, and the others take long. The worker retries the entry
    /// itself, without waiting a lease for the takeover of dead readers' entries.
    @Test func entryWhoseHandOverFailedIsRetriedSoon() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let (stream, key) = ("fanfare:{\(rig.project)}:jobs", "others:{\(rig.project)}:tokens")
            _ = try await rig.client.send(RedisCommand("RPUSH", key, "a", "b"))
            let user = ["ACL", "SETUSER", "worker", "on", ">secret", "~fanfare:*", "&*", "+@all"]
            _ = try await rig.client.send(command(user))
            _ = try await rig.client.send(RedisCommand("XGROUP", "CREATE", stream, ProjectKeys.group, "0", "MKSTREAM"))
            try await rig.push(["id": "refused", "message": Self.message, "audience": key])
            for job in 0..<4 {
                try await rig.push(["id": "large-\(job)", "message": Self.message, "tokens": Self.manyTokens])
            }
            let read = ["XREADGROUP", "GROUP", ProjectKeys.group, "the-worker", "STREAMS", stream, ">"]
            _ = try await rig.client.send(command(read))

            let url = "unix://worker:secret@\(rig.redis.socketPath)"
            let worker = try await rig.startWorker(
                try rig.configuration(redisURL: url, worker: "lease_ms: 120000, renew_ms: 40000"),
                ["--name", "the-worker"],
                until: "Entries cannot be handed over yet."
            )
            _ = try await rig.client.send(RedisCommand("ACL", "SETUSER", "worker", "~others:*"))
            try await Wait.until("intake of all entries\n\(worker.stderr.suffix(2_000))", seconds: 60) {
                try await rig.length("jobs") == 0
            }
            #expect(try await rig.job("refused")["total"] == "2")
        }
    }

    /// 600 entries, more than one page, always fail. The entry after them and a new entry are still taken in.
    @Test func entriesThatAlwaysFailDoNotBlockLaterEntries() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let user = ["ACL", "SETUSER", "worker", "on", ">secret", "~fanfare:*", "&*", "+@all"]
            _ = try await rig.client.send(command(user))
            let key = "others:{\(rig.project)}:tokens"
            for job in 0..<600 {
                try await rig.push(["id": "refused-\(job)", "message": Self.message, "audience": key])
            }
            try await rig.push(["id": "behind", "message": Self.message, "token": "a"])
            let url = "unix://worker:secret@\(rig.redis.socketPath)"
            try await rig.startWorker(try rig.configuration(redisURL: url, worker: "lease_ms: 120000, renew_ms: 40000"))
            try await rig.finished("behind", seconds: 60)
            try await rig.push(["id": "new", "message": Self.message, "token": "b"])
            try await rig.finished("new", seconds: 60)
            #expect(try await rig.length("jobs") == 600)
        }
    }

    private func command(_ words: [String]) -> RedisCommand {
        words.dropFirst().reduce(into: RedisCommand(words[0])) { $0.append($1) }
    }

    private func peakMB(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(separator: " ").dropFirst().first ?? "")) / 1_024
    }
}
