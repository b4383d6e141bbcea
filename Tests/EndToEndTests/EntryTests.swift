import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// How entries come out of a job stream, whatever their size and whoever was given them before.
@Suite struct EntryTests {
    private static let message = #"{"data":{"k":"v"}}"#

    /// Read together, these would be held several times over at once: more than a worker should ever have, and with a
    /// few more of them more than one answer of Redis may be.
    @Test func largeEntriesAreReadOneByOne() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let tokens = Rig.tokens((0..<100_000).map { String(repeating: "x", count: 155) + String($0 + 10_000_000) })
            let jobs = 12
            for job in 0..<jobs {
                try await rig.push(["id": "large-\(job)", "message": Self.message, "tokens": tokens])
            }
            let worker = try await rig.startWorker(try rig.configuration())
            try await Wait.until("all entries to be taken\n\(rig.logs)", seconds: 120) {
                try await rig.length("jobs") == 0
            }
            for job in 0..<jobs { #expect(try await rig.job("large-\(job)")["total"] == "100000") }
            let peak = try peakMB(of: worker.pid)
            print("\(jobs) entries of \(tokens.utf8.count / 1_000_000) MB: the worker's peak was \(peak) MB")
            #expect(peak < 250, "all entries together have \(jobs * tokens.utf8.count / 1_000_000) MB")
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
            let words = ["GROUP", ProjectKeys.group, "who-died", "COUNT", "\(count)", "STREAMS", stream, ">"]
            var read = RedisCommand("XREADGROUP")
            for word in words { read.append(word) }
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

    private func peakMB(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(separator: " ").dropFirst().first ?? "")) / 1_024
    }
}
