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
        let contenders = sizes.flatMap { size in
            bench.perEngine { SizeContender($0, sink: sink, size: size, sendsAtLeast: sendsAtLeast) }
        }
        let sides = sizes.map(side)
        let (smallest, largest) = (sides[0], sides[sides.count - 1])
        let report = Report(
            scenario: name,
            parameters: ["rounds": rounds, "sends_at_least": sendsAtLeast, "warm_up": options.warmUp],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: 0),
            compare: [(.cpu, largest, smallest), (.memory, largest, smallest), (.redis, largest, smallest)]
                + HTTPEngine.compare([.cpu, .memory], of: sides)
        )
        return report.with(goals: goals(report, sides: sides))
    }

    /// - Parameter sides: curl's, from the smallest audience to the largest.
    static func goals(_ report: Report, sides: [String]) -> [Goal] {
        let (smallest, largest) = (sides[0], sides[sides.count - 1])
        func peak(_ engine: HTTPEngine) -> Double? {
            sides.compactMap { report.largest(.memory, of: engine.side($0)) }.max()
        }
        let (curl, nghttp2) = (peak(.curl), peak(.nghttp2))
        let overCurl: Double? = if let curl, let nghttp2 { nghttp2 / curl } else { nil }
        return [
            Goal(
                "CPU per send, \(largest) over \(smallest)",
                .atMost(1.1),
                figure: report.ratio(.cpu, largest, smallest)
            ),
            Goal("largest peak memory of a worker", .atMost(96), unit: " MB", decimals: 1, figure: curl),
            Goal(
                "peak memory, \(largest) over \(smallest)",
                .atMost(1.2),
                figure: report.ratio(.memory, largest, smallest)
            ),
            Goal("largest peak memory on nghttp2", .atMost(96), unit: " MB", decimals: 1, figure: nghttp2),
            Goal("largest peak memory, nghttp2 over curl", .atMost(1.05), figure: overCurl),
        ]
    }
}
