internal import Foundation

/// Equal fan-outs to topics through capacity that FCM shares among a project's fan-outs: one at a time against all at
/// once. The sandbox plays FCM's part, because it is its sharing that matters.
enum FanoutsScenario: Scenario {
    static let name = "fanouts"
    static let summary =
        "topic jobs through FCM's shared capacity, one at a time against all at once: mean time to the end"
    static let tools = [Tool.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        let measures = [FanoutsContender.mean, FanoutsContender.last]
        let count = bench.form.pick(4, 10, 10)
        let subscribers = bench.form.pick(10_000, 20_000, 50_000)
        let contenders = [("in turn", 1), ("at once", count)].flatMap { name, atOnce in
            bench.perEngine {
                FanoutsContender($0, name: name, count: count, subscribers: subscribers, atOnce: atOnce)
            }
        }
        let rounds = bench.options.rounds(1, 1, 3)
        let ideal = Double(count + 1) / Double(2 * count)
        return Report(
            scenario: name,
            parameters: [
                "fan_outs": count, "subscribers": subscribers, "rate": FanoutsContender.rate, "rounds": rounds,
            ],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: count, show: measures),
            measures: measures,
            compare: [(FanoutsContender.mean, "in turn", "at once"), (FanoutsContender.last, "in turn", "at once")]
                + HTTPEngine.compare([FanoutsContender.mean], of: ["in turn", "at once"]),
            notes: [
                String(format: "without any gap between them the mean in turn would be %.2f of that at once", ideal)
            ]
        )
    }
}
