import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Fairness between projects, and workers whose Redis or clock is misconfigured.
@Suite(.serialized) struct FleetTests {
    /// Waiting times of jobs, in milliseconds.
    private struct Waits {
        var values: [Int64] = []

        /// The quantile at `share` (0 to 1); -1 without values.
        func quantile(_ share: Double) -> Int64 {
            let ordered = values.sorted()
            return ordered.isEmpty ? -1 : ordered[min(ordered.count - 1, Int(Double(ordered.count) * share))]
        }

        var text: String { "p50 \(quantile(0.5)) p99 \(quantile(0.99)) max \(quantile(1)) ms" }
    }

    /// This suite runs its tests one at a time. Beside other tests, a delayed request could fall into the next second
    /// and exceed its limit.
    @Test func subscriptionsStayBelowThreeThousandASecond() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(
                project: "iid_endpoint: https://localhost:\(rig.tlsPort)"
            )
            try await rig.startWorker(configuration)
            try await rig.startWorker(configuration)
            for job in 0..<4 {
                let tokens = (0..<2_500).map { "t-\(job)-\($0)" }
                try await rig.push([
                    "id": "s\(job)", "op": "subscribe", "topic": "t", "tokens": Rig.tokens(tokens), "results": "all",
                ])
            }
            for job in 0..<4 {
                let done = try await rig.finished("s\(job)")
                #expect(done["sent"] == "2500", "\(done)")
                #expect(try await rig.results("s\(job)").allSatisfy { $0.attempts == 1 }, "no request was refused")
            }
        }
    }

    @Test func quietProjectsStartWithinASecondBesideAFlood() async throws {
        let quiet = (0..<20).map { "quiet-\($0)" }
        let rounds = ChaosScale.isLong ? 600 : 60
        let flood = ChaosScale.isLong ? 60_000 : 8_000
        try await withRig(projects: ["flood"] + quiet) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            let tokens = Rig.tokens((0..<flood).map { "many-\($0)" })
            try await rig.push(["id": "many", "message": data, "tokens": tokens])
            try await pushFlood(rig, flood)
            try await Wait.until("200 sends of the flood") { try await rig.stats().sends >= 200 }

            var pushed: [(project: String, id: String, entryMs: Int64)] = []
            let begun = ContinuousClock.now
            for round in 0..<rounds {
                for project in [quiet[2 * round % 20], quiet[(2 * round + 1) % 20]] {
                    let id = "q-\(round)"
                    let fields = ["id": id, "message": data, "token": "\(project)-\(id)"]
                    let entry = try await rig.push(fields, in: project)
                    pushed.append((project, id, entry.split(separator: "-").first.flatMap { Int64($0) } ?? 0))
                }
                try await Task.sleep(until: begun + .milliseconds(100 * (round + 1)), clock: .continuous)
            }
            var whole = Waits()
            for job in pushed {
                let hash = try await rig.finished(job.id, in: job.project, seconds: 30)
                #expect(hash["created_ms"] == "\(job.entryMs)", "the time of the push")
                let started = try #require(hash["started_ms"].flatMap { Int64($0) })
                whole.values.append(started - job.entryMs)
            }
            let left = 2 * flood + pushed.count - (try await rig.stats().sends)
            #expect(left > flood / 4, "the flood lasted longer than the quiet jobs")
            print(
                "fairness: \(pushed.count) jobs of 20 quiet projects beside a flood (\(left) of \(2 * flood) sends left),"
                    + " push to start \(whole.text)"
            )
            #expect(whole.quantile(0.99) <= 1_000)
        }
    }

    /// Pushes `count` jobs of one recipient, as fast as Redis accepts them.
    private func pushFlood(_ rig: Rig, _ count: Int) async throws {
        let client = rig.client
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
    }

    /// A worker does not serve a Redis that may evict keys. It begins once the policy is corrected, without a restart.
    @Test func redisThatMayEvictKeysIsNotServed() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "512mb", "--maxmemory-policy", "allkeys-lru"])
        try await withRig(redis: redis) { rig in
            try await rig.startSandbox()
            let id = "kept"
            try await rig.push(["id": id, "message": data, "token": "t", "results": "all"])
            let worker = try await rig.startWorker(
                try rig.configuration(),
                until: "set maxmemory-policy to noeviction in redis.conf (it is allkeys-lru)"
            )
            let warned = ContinuousClock.now
            #expect(try await rig.length("jobs") == 1)
            #expect(try await rig.job(id).isEmpty)
            #expect(!worker.stderr.contains("The worker is connected."))
            try redis.cli("CONFIG", "SET", "maxmemory-policy", "noeviction")
            #expect(try await rig.finished(id)["sent"] == "1")
            #expect(try await rig.stats().sends == 1)
            print("eviction policy: the worker started to send \(warned.duration(to: .now)) after its warning")
        }
    }

    /// The lifetime of an access token is a duration, so a worker with a wrong clock must still send.
    @Test(arguments: [-3_600, 3_600])
    func workerWithAWrongClockSends(ahead: Int) async throws {
        let clocks = try SteppedClocks()
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(), environment: clocks.environment(ahead: ahead))
            try await rig.push(["id": "skewed", "message": data, "token": "t", "results": "all"])
            #expect(try await rig.finished("skewed", seconds: 20)["sent"] == "1")
        }
    }

    /// Due times of retries come from Redis' clock. If that clock is set back an hour, the retry must not wait an hour
    /// more.
    @Test(arguments: [(3_600, 0), (0, -3_600)])
    func retryIsSentOnTimeAfterRedisClockIsSetBack(before: Int, after: Int) async throws {
        let clocks = try SteppedClocks()
        let redis = try RedisServer(environment: clocks.environment(ahead: before))
        try await withRig(redis: redis) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            _ = try await rig.addFault(
                #"{"match":{"path":"/v1/"},"action":{"status":503,"retry_after":"3"},"times":1}"#
            )
            try await rig.push(["id": "later", "message": data, "token": "t", "results": "all"])
            try await Wait.until("the retry to wait") { try await rig.job("later")["retrying"] == "1" }
            try await clocks.set(redis.pid, ahead: after)
            let stepped = ContinuousClock.now
            #expect(try await rig.finished("later", seconds: 30)["sent"] == "1")
            #expect(try await rig.results("later").count == 1)
            try await rig.push(["id": "next", "message": data, "token": "u", "results": "all"])
            #expect(try await rig.finished("next", seconds: 10)["sent"] == "1")
            print("a retry due in 3 s was sent \(stepped.duration(to: .now)) after Redis' clock was set back an hour")
        }
    }
}
