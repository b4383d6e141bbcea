import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Measures how soon work begins: of quiet projects beside a flood, of a busy project beside idle ones, of XMPP. Times are
/// judged as ratios of one run, and only by `ops/measure`.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct FairnessMeasurement {
    private struct Waits {
        var values: [Int64] = []

        /// The quantile at `share` (0 to 1); -1 without values.
        func quantile(_ share: Double) -> Int64 {
            let ordered = values.sorted()
            return ordered.isEmpty ? -1 : ordered[min(ordered.count - 1, Int(Double(ordered.count) * share))]
        }

        var text: String { "p50 \(quantile(0.5)) p99 \(quantile(0.99)) max \(quantile(1)) ms" }
    }

    private static let quiet = (0..<20).map { "quiet-\($0)" }

    /// From the push to the first send of jobs that two of twenty quiet projects get ten times a second.
    private func waits(_ rig: Rig, rounds: Int) async throws -> Waits {
        var pushed: [(project: String, id: String, entryMs: Int64)] = []
        let begun = ContinuousClock.now
        for round in 0..<rounds {
            for project in [Self.quiet[2 * round % 20], Self.quiet[(2 * round + 1) % 20]] {
                let id = "q-\(pushed.count)-\(UInt32.random(in: 0 ..< .max))"
                let fields = ["id": id, "message": data, "token": "\(project)-\(id)"]
                let entry = try await rig.push(fields, in: project)
                pushed.append((project, id, entry.split(separator: "-").first.flatMap { Int64($0) } ?? 0))
            }
            try await Task.sleep(until: begun + .milliseconds(100 * (round + 1)), clock: .continuous)
        }
        var waits = Waits()
        for job in pushed {
            let hash = try await rig.finished(job.id, in: job.project)
            #expect(hash["created_ms"] == "\(job.entryMs)", "the time of the push")
            waits.values.append(try #require(hash["started_ms"].flatMap { Int64($0) }) - job.entryMs)
        }
        return waits
    }

    @Test func quietProjectsStartSoonBesideAFlood() async throws {
        let flood = 60_000
        try await withRig(projects: ["flood"] + Self.quiet) { rig in
            try await rig.startFlood(0)
            let alone = try await waits(rig, rounds: 100)
            try await rig.pushFlood(flood)
            let beside = try await waits(rig, rounds: 300)
            let left = 2 * flood + alone.values.count + beside.values.count - (try await rig.stats().sends)
            #expect(left > flood / 4, "the flood lasted longer than the quiet jobs")
            let ratio = Double(beside.quantile(0.99)) / Double(max(1, alone.quantile(0.99)))
            print(
                "fairness: push to start alone \(alone.text), beside a flood \(beside.text), ratio of p99 "
                    + String(format: "%.2f", ratio)
            )
            #expect(ratio <= 8)
        }
    }

    /// The blocking read of idle projects must not delay a busy project. Each entry fills one read and is rejected
    /// quickly. A wait of half a second per entry would add ten seconds to about two.
    @Test func idleProjectsDoNotSlowABusyOne() async throws {
        let count = 20
        let tokens = Rig.tokens(["not a token"] + (0..<60_000).map { "a-token-of-a-large-entry-\($0)" })
        var seconds: [Double] = []
        for projects in [["busy"], ["busy", "idle-a", "idle-b"]] {
            try await withRig(projects: projects) { rig in
                try await rig.startSandbox()
                for job in 0..<count { try await rig.push(["id": "\(job)", "message": data, "tokens": tokens]) }
                let begin = ContinuousClock.now
                try await rig.startWorker(try rig.configuration())
                try await Wait.until("intake of all entries", seconds: 120) { try await rig.length("jobs") == 0 }
                seconds.append((ContinuousClock.now - begin) / .seconds(1))
            }
        }
        print("intake of \(count) entries: \(seconds[0]) s alone, \(seconds[1]) s beside idle projects")
        #expect(seconds[1] < 3 * seconds[0])
    }

    /// A worker needs a permit from Redis to connect and has none at its start. A missing permit that counted as a refusal
    /// would pause the connection for at least 2.5 s, several times the second connection of the same run takes.
    @Test func firstXMPPConnectionOpensWithoutAPause() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(transport: "xmpp", project: try rig.xmppSettings)
            var took: [Duration] = []
            for _ in 0..<5 {
                let worker = try await rig.startWorker(configuration)
                let start = ContinuousClock.now
                try await Wait.until("a connection\n\(rig.logs)") { try await rig.xmppStats().open == 1 }
                took.append(ContinuousClock.now - start)
                worker.signal(SIGTERM)
                #expect(try await worker.wait(seconds: 60) == 0)
                try await Wait.until("the end of the connection") { try await rig.xmppStats().open == 0 }
            }
            print("XMPP: the first connection opened after \(took)")
            #expect((took.min() ?? .seconds(9)) < .seconds(2), "\(took)")
        }
    }
}

extension Rig {
    /// Starts a sandbox and two workers, and pushes a fan-out and as many jobs of one recipient to the project `flood`.
    /// Returns when the flood is being sent.
    func startFlood(_ count: Int) async throws {
        try await startSandbox()
        let configuration = try self.configuration(worker: "max_in_flight: 100, window: 64")
        for _ in 0..<2 { try await startWorker(configuration) }
        if count > 0 { try await pushFlood(count) }
    }

    func pushFlood(_ count: Int) async throws {
        let tokens = Rig.tokens((0..<count).map { "many-\($0)" })
        try await push(["id": "many", "message": data, "tokens": tokens], in: "flood")
        let client = self.client
        for start in stride(from: 0, to: count, by: 500) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in start..<min(start + 500, count) {
                    group.addTask {
                        _ = try await client.send(
                            RedisCommand("XADD", "fanfare:{flood}:jobs", "*", "message", data, "token", "one-\(index)")
                        )
                    }
                }
                try await group.waitForAll()
            }
        }
        let before = try await stats().sends
        try await Wait.until("200 sends of the flood") { try await stats().sends >= before + 200 }
    }
}
