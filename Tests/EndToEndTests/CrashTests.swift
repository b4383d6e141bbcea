import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// What the product promises when a worker dies without a word: nothing is lost, every recipient has one result, what
/// may have been sent twice says so, and nothing is sent twice where the job forbids it.
@Suite(.serialized) struct CrashTests {
    private static let timing = "lease_ms: 1500, renew_ms: 300, max_in_flight: 100, window: 64"

    @Test(arguments: ["at_least_once", "at_most_once"])
    func killedInMidBatch(delivery: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: Self.timing)
            // Every answer takes a while, so that a kill finds sends on the wire.
            _ = try await rig.control(
                "POST",
                "/faults",
                #"{"match":{"path":"/v1/"},"action":{"delay_ms":20}}"#
            )
            let total = 8_000
            try await rig.push([
                "id": "crash", "message": data, "tokens": Rig.tokens((0..<total).map { "token-\($0)" }),
                "results": "all", "delivery": delivery,
            ])
            for round in 1...3 {
                let worker = try await rig.startWorker(configuration)
                let goal = round * 1_200
                try await Wait.until("\(goal) sends") { try await rig.stats().sends >= goal }
                worker.signal(SIGKILL)
                _ = try await worker.wait()
            }
            let survivor = try await rig.startWorker(configuration)
            let killedAt = ContinuousClock.now
            let job = try await rig.finished("crash", seconds: 120)
            _ = survivor
            let results = try await rig.results("crash")
            #expect(Set(results.map(\.i)) == Set(0..<total), "nobody is forgotten")
            #expect(results.count == total, "one result each")
            let stats = try await rig.stats()
            let flagged = results.filter { $0.maybe_dup == true }
            if delivery == "at_most_once" {
                #expect(stats.duplicates == 0)
                #expect(Int(job["unknown"] ?? "") == results.filter { $0.status == "unknown" }.count)
                // Three kills, each at most the window ahead and what was on the wire.
                #expect(results.filter { $0.status == "unknown" }.count <= 3 * (100 + 2 * 64))
                #expect(stats.sends >= results.filter { $0.status == "sent" }.count)
            } else {
                #expect(job["sent"] == "\(total)")
                #expect(stats.duplicates <= flagged.count, "every duplicate is flagged")
                #expect(flagged.count <= 3 * (100 + 2 * 64))
            }
            print(
                "\(delivery): \(stats.sends) sends, \(stats.duplicates) duplicates, \(flagged.count) flagged,"
                    + " \(job["unknown"] ?? "?") unknown, \(killedAt.duration(to: .now)) from the last kill to the end"
            )
            #expect(try await rig.privateKeys().isEmpty)
        }
    }

    @Test func aDeadWorkersBatchesAreTakenOverWithinTheLease() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: Self.timing)
            let victim = try await rig.startWorker(configuration)
            _ = try await rig.startWorker(configuration)
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":50}}"#)
            try await rig.push([
                "id": "over", "message": data, "tokens": Rig.tokens((0..<6_000).map { "token-\($0)" }),
                "results": "all",
            ])
            try await Wait.until("some sends") { try await rig.stats().sends >= 500 }
            victim.signal(SIGKILL)
            try await rig.finished("over", seconds: 60)
            #expect(try await rig.results("over").count == 6_000)
        }
    }

    /// A worker that was frozen past its lease wakes up as a zombie: what it knows is taken, what it wants is not.
    @Test func aFrozenWorkerDoesNoHarmWhenItWakes() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: Self.timing)
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":20}}"#)
            let zombie = try await rig.startWorker(configuration)
            try await rig.push([
                "id": "zombie", "message": data, "tokens": Rig.tokens((0..<5_000).map { "token-\($0)" }),
                "results": "all",
            ])
            try await Wait.until("some sends") { try await rig.stats().sends >= 1_000 }
            zombie.signal(SIGSTOP)
            let heir = try await rig.startWorker(configuration)
            try await heir.logged("A worker is gone")
            try await Wait.until("the heir to send") { try await rig.stats().sends >= 2_000 }
            zombie.signal(SIGCONT)
            try await rig.finished("zombie", seconds: 60)
            let results = try await rig.results("zombie")
            #expect(Set(results.map(\.i)) == Set(0..<5_000) && results.count == 5_000)
            let stats = try await rig.stats()
            #expect(stats.duplicates <= results.filter { $0.maybe_dup == true }.count)
        }
    }

    @Test func aTermDrainsWithoutLossOrDuplicate() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: Self.timing)
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":20}}"#)
            try await rig.push([
                "id": "term", "message": data, "tokens": Rig.tokens((0..<6_000).map { "token-\($0)" }),
                "results": "all",
            ])
            for round in 1...4 {
                let worker = try await rig.startWorker(configuration)
                try await Wait.until("\(round * 1_000) sends") { try await rig.stats().sends >= round * 1_000 }
                worker.signal(SIGTERM)
                #expect(try await worker.wait(seconds: 20) == 0)
            }
            let last = try await rig.startWorker(configuration)
            try await rig.finished("term", seconds: 60)
            last.signal(SIGTERM)
            #expect(try await last.wait(seconds: 20) == 0)
            let results = try await rig.results("term")
            #expect(Set(results.map(\.i)) == Set(0..<6_000) && results.count == 6_000)
            #expect(results.allSatisfy { $0.status == "sent" && $0.maybe_dup != true && $0.attempts == 1 })
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0 && stats.sends == 6_000)
        }
    }

    @Test func redisKilledAndRestartedLosesNothing() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(worker: Self.timing))
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":20}}"#)
            try await rig.push([
                "id": "redis", "message": data, "tokens": Rig.tokens((0..<5_000).map { "token-\($0)" }),
                "results": "all",
            ])
            for round in 1...3 {
                try await Wait.until("\(round * 1_000) sends") { try await rig.stats().sends >= round * 1_000 }
                rig.redis.kill9()
                try rig.redis.restart()
            }
            try await Wait.until("redis to answer again") {
                (try? await rig.client.send(RedisCommand("PING"))) != nil
            }
            try await rig.finished("redis", seconds: 60)
            let results = try await rig.results("redis")
            #expect(Set(results.map(\.i)) == Set(0..<5_000) && results.count == 5_000)
            let stats = try await rig.stats()
            #expect(stats.duplicates <= results.filter { $0.maybe_dup == true }.count)
        }
    }
}
