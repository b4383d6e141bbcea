import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Cancel, pause, expiry, turns and holds, observed through the command and the sandbox.
@Suite(.serialized) struct LifeCycleTests {
    private func fanfare(_ rig: Rig, _ configuration: String, _ arguments: [String]) async throws -> String {
        let named = arguments[0] == "project" ? [] : ["--project", rig.project]
        let process = try ChildProcess(arguments + ["-c", configuration] + named)
        let status = try await process.wait(seconds: 30)
        #expect(status == 0, "\(arguments): \(process.stderr)")
        return process.stdout
    }

    /// Waits a second and counts the sends of the second after it.
    private func sendsAfterOneSecond(_ rig: Rig) async throws -> Int {
        try await Task.sleep(for: .seconds(1))
        let then = try await rig.stats().sends
        try await Task.sleep(for: .seconds(1))
        return try await rig.stats().sends - then
    }

    private func pushMany(_ rig: Rig, _ id: String, _ count: Int, _ fields: [String: String] = [:]) async throws {
        let job = [
            "id": id, "message": data, "tokens": Rig.tokens((0..<count).map { "\(id)-\($0)" }), "results": "all",
        ]
        try await rig.push(job.merging(fields) { $1 })
    }

    private func awaitSends(_ rig: Rig, _ count: Int = 300) async throws {
        let before = try await rig.stats().sends
        try await Wait.until("\(count) sends\n\(rig.logs)") { try await rig.stats().sends >= before + count }
    }

    @Test func cancelledJobStopsSendingAndWritesEveryResult() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            try await pushMany(rig, "c", 12_000)
            try await awaitSends(rig)
            _ = try await fanfare(rig, configuration, ["job", "cancel", "c"])
            let late = try await sendsAfterOneSecond(rig)
            #expect(late == 0)
            let job = try await rig.finished("c")
            #expect(job["state"] == "cancelled")
            let results = try await rig.results("c")
            #expect(Set(results.map(\.i)).count == 12_000)
            #expect(results.count == 12_000)
            let stats = try await rig.stats()
            #expect(results.filter { $0.status == "sent" }.count == stats.accepted)
            #expect(try await rig.privateKeys().isEmpty)
        }
    }

    @Test func pausedJobSendsNothingUntilResumedAndThenNoDuplicates() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            try await pushMany(rig, "p", 8_000)
            try await awaitSends(rig)
            _ = try await fanfare(rig, configuration, ["job", "pause", "p"])
            let late = try await sendsAfterOneSecond(rig)
            #expect(late == 0)
            #expect(try await rig.job("p")["state"] == "paused")
            // A paused job does not hold the slot.
            try await pushMany(rig, "q", 1_500)
            try await rig.finished("q")
            _ = try await fanfare(rig, configuration, ["job", "resume", "p"])
            let job = try await rig.finished("p", seconds: 90)
            #expect(job["sent"] == "8000")
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0)
            #expect(stats.sends == 9_500)
        }
    }

    @Test func jobResumedWithSendsInFlightFinishes() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            try await rig.startWorker(configuration)
            // The first hundred are in flight; the second hundred is sent after the pause.
            let tokens = (0..<1_200).map { $0 < 200 ? "sbx-slow-3000-\($0)" : "t\($0)" }
            try await rig.push(["id": "s", "message": data, "results": "all", "tokens": Rig.tokens(tokens)])
            try await awaitSends(rig, 50)
            _ = try await fanfare(rig, configuration, ["job", "pause", "s"])
            _ = try await fanfare(rig, configuration, ["job", "resume", "s"])
            let job = try await rig.finished("s", seconds: 60)
            #expect(job["sent"] == "1200")
            #expect(try await rig.stats().sends == 1_200)
        }
    }

    /// A worker that starts after a pause and a resume sends its batches; it does not treat them as ambiguous.
    @Test func newWorkerIgnoresAnEarlierPause() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            let first = try await rig.startWorker(configuration)
            try await pushMany(rig, "amo", 3_000, ["delivery": "at_most_once"])
            try await awaitSends(rig)
            _ = try await fanfare(rig, configuration, ["job", "pause", "amo"])
            _ = try await fanfare(rig, configuration, ["job", "resume", "amo"])
            first.signal(SIGTERM)
            #expect(try await first.wait() == 0)
            try await rig.startWorker(configuration)
            let job = try await rig.finished("amo")
            #expect(job["sent"] == "3000")
            #expect(job["unknown"] == "0")
        }
    }

    @Test func pausedProjectSendsNothing() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            try await pushMany(rig, "f", 4_000)
            try await awaitSends(rig)
            _ = try await fanfare(rig, configuration, ["project", "pause", rig.project])
            try await rig.push(["id": "one", "message": data, "token": "single"])
            let late = try await sendsAfterOneSecond(rig)
            #expect(late == 0)
            _ = try await fanfare(rig, configuration, ["project", "resume", rig.project])
            try await rig.finished("one")
            try await rig.finished("f")
            #expect(try await rig.stats().sends == 4_001)
        }
    }

    @Test func jobThatExpiresInTheQueueIsNotSent() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            try await rig.startWorker(configuration)
            // A hundred in flight, each answered after 100 ms: three seconds at least on any machine.
            try await rig.push([
                "id": "first", "message": data, "tokens": Rig.tokens((0..<3_000).map { "sbx-slow-100-\($0)" }),
            ])
            let soon = Int64(Date().timeIntervalSince1970 * 1_000) + 1_000
            try await pushMany(rig, "late", 1_500, ["expires_at": "\(soon)"])
            let job = try await rig.finished("late")
            #expect(job["state"] == "expired")
            #expect(job["expired"] == "1500")
            #expect(try await rig.job("first")["state"] != "done", "the job expired before its turn")
            try await rig.finished("first")
            #expect(try await rig.stats().sends == 3_000)
        }
    }

    @Test func singleRecipientOvertakesAFanoutAtALowQuota() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            // At ten sends a second the fan-out takes minutes.
            let configuration = try rig.configuration(quotaPerMinute: 600)
            try await rig.startWorker(configuration)
            try await pushMany(rig, "slow", 3_000)
            try await awaitSends(rig, 20)
            try await rig.push(["id": "otp", "message": data, "token": "single"])
            try await rig.finished("otp")
            let slow = try await rig.job("slow")
            let sent = try #require(Int(slow["sent"] ?? ""))
            #expect(slow["state"] == "active" && sent < 3_000, "the fan-out was not over: \(slow)")
        }
    }

    @Test func fanoutSlotIsHandedOverWithin100Milliseconds() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 100, window: 64")
            for _ in 0..<3 { try await rig.startWorker(configuration) }
            for name in ["a", "b", "c", "d"] { try await pushMany(rig, name, 1_500) }
            // A slow answer at the end of a fan-out must not delay the next one.
            _ = try await rig.control(
                "POST",
                "/faults",
                #"{"match":{"path":"/v1/","token_prefix":"a-1499"},"action":{"delay_ms":5000}}"#
            )
            var times: [(start: Int64, passed: Int64)] = []
            for name in ["a", "b", "c", "d"] {
                let job = try await rig.finished(name)
                times.append((Int64(job["started_ms"] ?? "") ?? 0, Int64(job["first_pass_ms"] ?? "") ?? 0))
            }
            // Each worker takes in what it reads: a later job may be the first in the queue.
            times.sort { $0.start < $1.start }
            let gaps = zip(times, times.dropFirst()).map { $1.start - $0.passed }
            print("hand-over: \(gaps) ms after the last first-pass send")
            #expect(gaps.allSatisfy { (0...100).contains($0) }, "\(gaps)")
        }
    }

    @Test func unreadableJobIsLeftToANewerVersion() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let worker = try await rig.startWorker(try rig.configuration())
            let due = Int64(Date().timeIntervalSince1970 * 1_000) + 2_000
            try await rig.push(["id": "new", "message": data, "token": "a", "not_before": "\(due)"])
            let spec = "fanfare:{demo}:spec:new"
            try await Wait.until("intake of the job") {
                try await rig.client.send(RedisCommand("EXISTS", spec)).integer == 1
            }
            _ = try await rig.client.send(RedisCommand("HSET", spec, "op", "teleport"))
            try await worker.logged("This worker cannot read the job, and leaves it to a newer version")
            func claimed(_ times: Int64) async throws {
                let batch = "fanfare:{demo}:b:new/0"
                try await Wait.until("claim \(times)") {
                    let reply = try await rig.client.send(RedisCommand("HGET", batch, "deliveries"))
                    return try #require(reply.string.flatMap { Int64($0) }) >= times
                }
            }
            // The batch is released and claimed again, with a pause in between.
            try await claimed(2)
            let start = ContinuousClock.now
            try await claimed(4)
            #expect(start.duration(to: .now) > .milliseconds(1_500))
            _ = try await rig.client.send(RedisCommand("HSET", spec, "op", "send"))
            let job = try await rig.finished("new")
            #expect(job["sent"] == "1")
            #expect(try await rig.deliveries("a").count == 1)
        }
    }

    @Test func holdStopsEveryWorker() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "max_in_flight: 50, window: 32")
            for _ in 0..<3 { try await rig.startWorker(configuration) }
            try await pushMany(rig, "h", 6_000)
            try await awaitSends(rig)
            let fault = #"{"match":{"path":"/v1/"},"action":{"status":503,"retry_after":"4"}}"#
            let added = try await rig.control("POST", "/faults", fault)
            let key = "fanfare:{demo}:ctl"
            try await Wait.until("the hold") {
                try await rig.client.send(RedisCommand("HEXISTS", key, "hold_until")).integer == 1
            }
            try await Task.sleep(for: .milliseconds(100))
            let then = try await rig.stats().sends
            try await Task.sleep(for: .milliseconds(500))
            let settled = try await rig.stats().sends
            try await Task.sleep(for: .milliseconds(2_500))
            let later = try await rig.stats().sends
            // Sends in flight still arrive: 50 per worker.
            #expect(settled - then <= 150)
            #expect(later == settled, "\(later - settled) sends began during the hold")
            struct Fault: Decodable { var id: String }
            let id = try JSONDecoder().decode(Fault.self, from: added).id
            _ = try await rig.control("DELETE", "/faults?id=\(id)")
            let job = try await rig.finished("h", seconds: 120)
            #expect(job["sent"] == "6000")
        }
    }
}
