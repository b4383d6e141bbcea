import Foundation
import TestSupport
import Testing

/// Measures the gain of turns: equal fan-outs one at a time against all at once. FCM shares its capacity among a
/// project's active fan-outs.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct TurnMeasurement {
    private struct Fanout: Decodable {
        var topic: String?
        var finished_ms: Int64?
    }

    private static let count = 10

    /// The mean time from the push to the end of a fan-out, in seconds, and the most fan-outs active at once.
    private func meanTime(activeFanouts: Int, subscribers: Int, rate: Int) async throws -> (mean: Double, most: Int) {
        var mean = 0.0
        var most = 0
        try await withRig { rig in
            try await rig.startSandbox(["--fanout-rate", "\(rate)"])
            for index in 0..<Self.count {
                let body = #"{"topic":"t\#(index)","subscribers":\#(subscribers)}"#
                _ = try await rig.control("POST", "/devices", body)
            }
            let configuration = try rig.configuration(
                project: "active_fanouts: \(activeFanouts)\n    fanout_rate: \(rate)"
            )
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            let pushed = Int64(Date().timeIntervalSince1970 * 1_000)
            for index in 0..<Self.count {
                try await rig.push([
                    "id": "t\(index)", "message": #"{"data":{"k":"v"}}"#, "topic": "t\(index)",
                    "audience_size": "\(subscribers)",
                ])
            }
            var ends: [Int64] = []
            let seconds = Double(Self.count * subscribers) / Double(rate)
            try await Wait.until("the fan-outs to end\n\(rig.logs)", seconds: 3 * seconds + 20) {
                let lines = try await rig.control("GET", "/fanouts").split(separator: UInt8(ascii: "\n"))
                ends = try lines.compactMap { try JSONDecoder().decode(Fanout.self, from: $0).finished_ms }
                return ends.count == Self.count
            }
            mean = Double(ends.map { $0 - pushed }.reduce(0, +)) / Double(Self.count) / 1_000
            struct Active: Decodable { var max_active_fanouts: Int }
            most = try JSONDecoder().decode(Active.self, from: try await rig.control("GET", "/stats"))
                .max_active_fanouts
        }
        return (mean, most)
    }

    @Test func fanoutsInTurnFinishSoonerThanAllAtOnce() async throws {
        // Each fan-out takes two seconds alone.
        let (subscribers, rate) = (20_000, 10_000)
        let inTurn = try await meanTime(activeFanouts: 1, subscribers: subscribers, rate: rate)
        let atOnce = try await meanTime(activeFanouts: Self.count, subscribers: subscribers, rate: rate)
        let ratio = inTurn.mean / atOnce.mean
        print(
            "ten equal fan-outs: mean \(inTurn.mean) s one at a time, \(atOnce.mean) s all at once, ratio "
                + String(format: "%.3f", ratio)
        )
        #expect(inTurn.most == 1)
        #expect(atOnce.most > 1)
        #expect(ratio <= 0.58)
    }
}
