import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// How entries come out of a job stream, whatever their size and whoever was given them before.
@Suite struct EntryTests {
    private static let message = #"{"data":{"k":"v"}}"#
    /// 16 MB of them.
    private static let manyTokens = Rig.tokens(
        (0..<100_000).map { String(repeating: "x", count: 155) + String($0 + 10_000_000) }
    )

    /// Read together, these would be held several times over at once: more than a worker should ever have, and with a
    /// few more of them more than one answer of Redis may be.
    @Test func largeEntriesAreReadOneByOne() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let (tokens, jobs) = (Self.manyTokens, 12)
            for job in 0..<jobs {
                try await rig.push(["id": "large-\(job)", "message": Self.message, "tokens": tokens])
            }
            let worker = try await rig.startWorker(try rig.configuration())
            try await Wait.until("all entries to be taken\n\(rig.logs)", seconds: 120) {
                try await rig.length("jobs") == 0
            }
            for job in 0..<jobs { #expect(try await rig.job("large-\(job)")["total"] == "100000") }
            let peak = try peakMB(of: worker.pid)
            #expect(!worker.stderr.contains("cannot be read together"), "they were asked for together")
            print("\(jobs) entries of \(tokens.utf8.count / 1_000_000) MB: the worker's peak was \(peak) MB")
            #expect(peak < 300, "all entries together have \(jobs * tokens.utf8.count / 1_000_000) MB")
        }
    }

    @Test func entriesOfAReaderThatDiedAreTakenOver() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let stream = "fanfare:{\(rig.project)}:jobs"
            let group = RedisCommand("XGROUP", "CREATE", stream, ProjectKeys.group, "0", "MKSTREAM")
            _ = try await rig.client.send(group)
            let count = 150
            for job in 0..<count {
                try await rig.push(["id": "job-\(job)", "message": Self.message, "token": "token-\(job)"])
            }
            let read = command(["XREADGROUP", "GROUP", ProjectKeys.group, "who-died", "STREAMS", stream, ">"])
            let entries = StreamEntry.byStream(try await rig.client.send(read))[0].entries
            try #require(entries.count == count)
            // Deleted by somebody's hand, the first of them among them: nothing behind these may stay where it is.
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

    /// Redis refuses one of them for a while, the first of several pages, of which each takes long: it is not left to
    /// whoever looks for the entries of dead readers a lease later.
    @Test func anEntryThatCouldNotBeHandedOverIsReadAgainSoon() async throws {
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
            try await Wait.until("all entries to be taken\n\(worker.stderr.suffix(2_000))", seconds: 60) {
                try await rig.length("jobs") == 0
            }
            #expect(try await rig.job("refused")["total"] == "2")
        }
    }

    /// More of them than a page has, and none is ever taken: what is behind them, and what is new, is.
    @Test func entriesThatAlwaysFailKeepNobodyElseWaiting() async throws {
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

    /// A reader that waits for what is pushed to idle projects must not keep a busy one waiting. Each of these entries is
    /// as much as a worker takes at once, and is rejected quickly.
    @Test func idleProjectsDoNotSlowABusyOne() async throws {
        let count = 20
        let tokens = "[\"not a token\"," + Self.manyTokens.dropFirst()
        var seconds: [Double] = []
        for projects in [["busy"], ["busy", "idle-a", "idle-b"]] {
            try await withRig(projects: projects) { rig in
                try await rig.startSandbox()
                for job in 0..<count {
                    try await rig.push(["id": "\(job)", "message": Self.message, "tokens": tokens])
                }
                let begin = ContinuousClock.now
                try await rig.startWorker(try rig.configuration())
                try await Wait.until("all entries to be taken", seconds: 120) { try await rig.length("jobs") == 0 }
                seconds.append((ContinuousClock.now - begin) / .seconds(1))
            }
        }
        print("\(count) entries were taken in \(seconds[0]) s, beside idle projects in \(seconds[1]) s")
        // Half a second for each of them would be ten more.
        #expect(seconds[1] < 2 * seconds[0] + 2)
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
