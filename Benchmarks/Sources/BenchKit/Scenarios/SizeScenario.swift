internal import Foundation

/// Audiences from ten thousand to ten million: what a send costs must not depend on how many others there are.
enum SizeScenario: Scenario {
    static let name = "size"
    static let summary = "audiences from 10 thousand to 10 million: CPU per send and peak memory"
    static let tools = Sink.tools + [.redisServer]

    static func side(_ size: Int) -> String { "\(size) recipients" }

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        let sizes =
            (options.sizes
            ?? options.form.pick(
                [10_000, 100_000],
                [10_000, 100_000, 1_000_000],
                [10_000, 100_000, 1_000_000, 10_000_000]
            )).sorted()
        let rounds = options.rounds(1, 3, 10)
        let sendsAtLeast = options.sends(30_000, 100_000)
        let contenders = sizes.map { SizeContender(bench, sink: sink, size: $0, sendsAtLeast: sendsAtLeast) }
        let smallest = side(sizes[0])
        let largest = side(sizes[sizes.count - 1])
        let report = Report(
            scenario: name,
            parameters: ["rounds": rounds, "sends_at_least": sendsAtLeast, "warm_up": options.warmUp],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: 0),
            compare: [(.cpu, largest, smallest), (.memory, largest, smallest), (.redis, largest, smallest)]
        )
        return report.with(goals: goals(report, smallest: smallest, largest: largest))
    }

    static func goals(_ report: Report, smallest: String, largest: String) -> [Goal] {
        let peaks = report.sides.compactMap { $0.measures[Measure.memory.name]?.max }
        return [
            Goal(
                "CPU per send, \(largest) over \(smallest)",
                .atMost(1.1),
                figure: report.ratio(.cpu, largest, smallest)
            ),
            Goal("largest peak memory of a worker", .atMost(96), unit: " MB", decimals: 1, figure: peaks.max()),
            Goal(
                "peak memory, \(largest) over \(smallest)",
                .atMost(1.2),
                figure: report.ratio(.memory, largest, smallest)
            ),
        ]
    }
}
