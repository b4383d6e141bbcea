import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Fairness between projects, and workers whose Redis or clock is misconfigured.
@Suite(.serialized) struct FleetTests {
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

    /// Every quiet job ends while most of the flood waits; `ops/measure fairness` measures how soon.
    @Test func quietProjectsAreServedBesideAFlood() async throws {
        let quiet = (0..<20).map { "quiet-\($0)" }
        let flood = 8_000
        try await withRig(projects: ["flood"] + quiet) { rig in
            try await rig.startFlood(flood)
            for round in 0..<60 {
                for project in [quiet[2 * round % 20], quiet[(2 * round + 1) % 20]] {
                    try await rig.push(
                        ["id": "q-\(round)", "message": data, "token": "\(project)-\(round)"],
                        in: project
                    )
                }
            }
            for round in 0..<60 {
                for project in [quiet[2 * round % 20], quiet[(2 * round + 1) % 20]] {
                    try await rig.finished("q-\(round)", in: project)
                }
            }
            let left = 2 * flood + 120 - (try await rig.stats().sends)
            #expect(left > flood / 4, "the flood lasted longer than the quiet jobs")
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
