import Foundation
import TestSupport
import Testing

/// Measures how much of a project's quota three workers use, how many sends FCM refuses, and the same for a client
/// without pacing. Takes minutes, so only `ops/measure` runs it.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct GovernorMeasurement {
    private struct Window: Decodable {
        var started_ms: Int64
        var used: Int
        var refused: Int
    }

    private struct Quota: Decodable {
        var limit: Int
        var windows: [Window]
    }

    private static let perMinute = 6_000

    private func windows(_ rig: Rig) async throws -> [Window] {
        let answer = try await rig.control("GET", "/quota")
        return try JSONDecoder().decode([String: Quota].self, from: answer)[rig.project]?.windows ?? []
    }

    /// Sends for `count` windows of FCM and returns them; the last one is not complete.
    private func run(quotaPerMinute: Int, windows count: Int) async throws -> [Window] {
        var seen: [Window] = []
        try await withRig { rig in
            try await rig.startSandbox(["--quota-per-minute", "\(Self.perMinute)"])
            let configuration = try rig.configuration(quotaPerMinute: quotaPerMinute)
            for _ in 0..<3 { try await rig.startWorker(configuration) }
            // Enough recipients to outlast the measurement.
            try await rig.push([
                "id": "long", "message": #"{"data":{"k":"v"}}"#, "results": "none",
                "tokens": Rig.tokens((0..<(count + 2) * Self.perMinute).map { "t\($0)" }),
            ])
            try await Wait.until("\(count) windows\n\(rig.logs)", seconds: Double(count + 1) * 60) {
                seen = try await windows(rig)
                return seen.count > count
            }
        }
        return seen
    }

    @Test func threeWorkersUseTheQuotaWithoutRefusals() async throws {
        // The first window is the ramp of 60 s. The next three are measured.
        let governed = try await run(quotaPerMinute: Self.perMinute, windows: 4)
        let measured = governed.dropFirst().prefix(3)
        let use = Double(measured.map(\.used).reduce(0, +)) / Double(3 * Self.perMinute)
        let refused = governed.map(\.refused).reduce(0, +)
        let naive = try await run(quotaPerMinute: 100_000_000, windows: 2)
        print(
            "governor: \(governed.map(\.used)) of \(Self.perMinute) a window, "
                + String(format: "%.2f %% after the ramp", 100 * use) + ", \(refused) refused;"
                + " naive client: \(naive.map(\.used)), \(naive.map(\.refused).reduce(0, +)) refused"
        )
        #expect(use >= 0.98)
        #expect(refused == 0)
        #expect(naive.map(\.refused).reduce(0, +) > 0)
    }
}
