import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Measures the first pass of a fan-out with a share of the answers 503 and `Retry-After: 10`, against a clean run.
/// Each run starts from idle, under the default quota. `FANFARE_MEASURE_RECIPIENTS` sets the recipients (20,000).
/// Takes minutes, so only `ops/measure` runs it.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct OverloadMeasurement {
    private static let recipients =
        ProcessInfo.processInfo.environment["FANFARE_MEASURE_RECIPIENTS"].flatMap { Int($0) } ?? 20_000

    private func withLoad(share: Double, _ body: (Rig) async throws -> Void) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            if share > 0 {
                let action = #"{"status":503,"retry_after":"10"}"#
                let fault = #"{"match":{"path":"/v1/","fraction":\#(share)},"action":\#(action)}"#
                _ = try await rig.control("POST", "/faults", fault)
            }
            try await rig.startWorker(try rig.configuration(quotaPerMinute: 600_000))
            let key = "audience:{\(rig.project)}:load"
            for start in stride(from: 0, to: Self.recipients, by: 1_000) {
                var command = RedisCommand("RPUSH", key)
                for index in start..<min(start + 1_000, Self.recipients) { command.append("token-\(index)") }
                _ = try await rig.client.send(command)
            }
            try await rig.push(["id": "load", "message": #"{"data":{"k":"v"}}"#, "audience": key, "results": "none"])
            try await body(rig)
        }
    }

    /// The duration of the first pass, in seconds.
    private func firstPass(share: Double) async throws -> Double {
        var seconds = 0.0
        try await withLoad(share: share) { rig in
            var job: [String: String] = [:]
            try await Wait.until("the first pass at \(share)\n\(rig.logs)", seconds: 600) {
                job = try await rig.job("load")
                return job["first_pass_ms"] != nil
            }
            let began = try #require(Int64(job["started_ms"] ?? ""))
            let passed = try #require(Int64(job["first_pass_ms"] ?? ""))
            seconds = Double(passed - began) / 1_000
        }
        return seconds
    }

    @Test func refusalsSlowTheFirstPassWithinBounds() async throws {
        print("overload: \(Self.recipients) recipients, each share against a clean run right before it")
        for (share, most) in [(0.0005, 1.1), (0.005, 1.3), (0.05, 2.0)] {
            let clean = try await firstPass(share: 0)
            let seconds = try await firstPass(share: share)
            let ratio = seconds / clean
            print(
                String(format: "overload: clean %.1f s, %.2f %% refused %.1f s, ", clean, 100 * share, seconds)
                    + String(format: "%.2f times", ratio)
            )
            #expect(ratio <= most)
        }
    }

    /// Measures the most requests in a second that reach FCM after the first hold.
    @Test func halfRefusedAnswersLimitSendsToTwentyASecond() async throws {
        try await withLoad(share: 0.5) { rig in
            let ctl = "fanfare:{\(rig.project)}:ctl"
            try await Wait.until("a hold\n\(rig.logs)") {
                try await rig.client.send(RedisCommand("HGET", ctl, "recovering")).string == "1"
            }
            // Lets the sends in flight arrive.
            try await Task.sleep(for: .seconds(1))
            var seen = [try await rig.stats().requests]
            let before = seen[0]
            let began = ContinuousClock.now
            var most = 0.0
            var last = began
            for _ in 0..<40 {
                try await Task.sleep(for: .seconds(1))
                seen.append(try await rig.stats().requests)
                let now = ContinuousClock.now
                most = max(most, Double(seen[seen.count - 1] - seen[seen.count - 2]) / ((now - last) / .seconds(1)))
                last = now
            }
            let mean = Double(seen[seen.count - 1] - before) / ((last - began) / .seconds(1))
            print(String(format: "overload: half refused, %.1f requests a second, %.1f in the worst", mean, most))
            #expect(most <= 20)
        }
    }
}
