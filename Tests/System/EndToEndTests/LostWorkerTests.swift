import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What an operator sees of a worker that was killed: counts, filters, the log and the history.
@Suite(.timeLimit(.minutes(5))) struct LostWorkerTests {
    private static let message = #"{"notification":{"title":"Hello"}}"#
    private static let projects = ["bank", "shop"]

    private func marks(_ rig: Rig, _ project: String) async throws -> [String] {
        let reply = try await rig.client.send(RedisCommand("XRANGE", "fanfare:{\(project)}:marks", "-", "+"))
        return (reply.array ?? []).compactMap { StreamEntry($0) }
            .map { "\($0.text("kind") ?? "") \($0.text("text") ?? "")" }
    }

    @Test func killedWorkerLeavesCountsALineAndMarks() async throws {
        try await withRig(projects: Self.projects) { rig in
            try await rig.startSandbox()
            let slow = #"{"match":{"path":"/v1/"},"action":{"delay_ms":300}}"#
            _ = try await rig.control("POST", "/faults", slow)
            let file = try rig.configuration(worker: "lease_ms: 3000, renew_ms: 500, max_in_flight: 200")
            let victim = try await rig.startWorker(file, ["--name", "victim"])
            for project in Self.projects {
                let tokens = (0..<3_000).map { "\(project)-\($0)" }
                let job = ["id": "all", "message": Self.message, "tokens": Rig.tokens(tokens), "results": "all"]
                try await rig.push(job, in: project)
            }
            try await Wait.until("sends of both projects\n\(rig.logs)") {
                for project in Self.projects {
                    guard try await rig.job("all", in: project)["sent"].flatMap({ Int($0) }) ?? 0 > 50 else {
                        return false
                    }
                }
                return true
            }
            victim.signal(SIGKILL)
            let heir = try await rig.startWorker(file, ["--name", "heir"])
            for project in Self.projects {
                let job = try await rig.finished("all", in: project, seconds: 120)
                let flagged = try await rig.results(in: project)["all"]?.count { $0.maybe_dup == true } ?? 0
                #expect(flagged > 0 && job["maybe_dup"] == "\(flagged)" && job["sent"] == "3000", "\(job)")
                let shown = try await rig.fanfare(file, ["job", "show", "all"], in: project)
                #expect(shown.contains("\(flagged) may have got it twice"), "\(shown)")
                let filter = ["job", "results", "all", "--maybe-dup", "--json"]
                let listed = try await rig.fanfare(file, filter, in: project)
                #expect(listed.split(separator: "\n").count == flagged)
                let marks = try await marks(rig, project)
                #expect(marks.count { $0.hasPrefix("lost victim.") } == 1, "\(marks)")
                let takeover = marks.first { $0.hasPrefix("takeover by heir.") }
                #expect(takeover?.contains(" from victim.") == true, "\(marks)")
            }
            let sentence = "A worker is lost; its batches are taken over."
            try await heir.logged(sentence)
            let lines = heir.stderr.split(separator: "\n").filter { $0.contains(sentence) }
            #expect(lines.count == 1 && lines[0].contains("bank, shop") && lines[0].contains("victim."), "\(lines)")
        }
    }
}
