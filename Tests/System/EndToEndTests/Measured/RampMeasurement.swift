import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Measures what a legacy project sends in its first minute against the documented ramp. Takes minutes, so only
/// `ops/measure` runs it.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct RampMeasurement {
    /// Recipients that the ramp allows in the first minute: from 2 % of the rate, or ten a second, to all of it.
    private static func area(_ quota: Int) -> Double {
        let full = 0.985 * Double(quota) / 60
        return 60 * (min(full, max(full / 50, 10)) + full) / 2
    }

    @Test(arguments: [6_000, 40_000, 300_000]) func legacyFollowsTheRampAtAnyQuota(quota: Int) async throws {
        let area = Self.area(quota)
        try await withRig { rig in
            try await rig.startSandbox(["--quota-per-minute", "10000000"])
            try await rig.startWorker(try rig.configuration(transport: "legacy", quotaPerMinute: quota))
            let key = "audience:{\(rig.project)}:ramp"
            for start in stride(from: 0, to: Int(1.5 * area) + 2_000, by: 1_000) {
                var command = RedisCommand("RPUSH", key)
                for number in start..<start + 1_000 { command.append("t\(number)") }
                _ = try await rig.client.send(command)
            }
            try await rig.push([
                "id": "ramp", "message": #"{"data":{"k":"v"}}"#, "audience": key, "results": "none",
            ])
            try await Wait.until("the first multicast") { try await rig.stats().sends > 0 }
            try await Task.sleep(for: .seconds(60))
            let sent = try await rig.stats().sends
            let share = Double(sent) / area
            print(
                "ramp: legacy, \(quota) a minute: \(sent) in 60 s, "
                    + String(format: "%.0f %% of the ramp", 100 * share)
            )
            #expect(share >= 0.85 && share <= 1.05 + 1_500 / area)
        }
    }
}
