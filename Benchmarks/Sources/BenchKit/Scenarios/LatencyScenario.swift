internal import Foundation

/// Single pushes at half of what one worker can move: how long each takes from `XADD` to its result.
enum LatencyScenario: Scenario {
    static let name = "latency"
    static let summary = "from XADD to result at half load: p50, p99, p99.9, and what the sink itself takes"
    static let tools = Sink.tools + [.redisServer]

    static let p50 = Measure.figure("p50_ms", "p50 ms", decimals: 2)
    static let p99 = Measure.figure("p99_ms", "p99 ms", decimals: 2)
    static let p999 = Measure.figure("p999_ms", "p99.9 ms", decimals: 2)

    static func figures(_ milliseconds: [Double]) throws -> [String: Double] {
        guard let percentiles = Percentiles(milliseconds) else { throw BenchError.failed("no answer was timed") }
        return [
            p50.name: percentiles.at(0.5), p99.name: percentiles.at(0.99), p999.name: percentiles.at(0.999),
        ]
    }

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        let full = try SinglesContender(bench, sink: sink).run(sends: options.sends(10_000, 50_000)).sendsPerSecond
        let rate = max(1, Int(full / 2))
        Console.note("one worker moves \(Int(full)) single jobs a second here; half of that is \(rate)")
        let seconds = bench.form.pick(3, 15, 60)
        let rounds = options.rounds(1, 3, 10)
        var notes = ["times are Redis's, whole milliseconds: a single one may be off by one, their middle is not"]
        // The same rate for each engine, so that their times can be compared.
        var contenders = bench.perEngine { LatencyContender($0, sink: sink, rate: rate) }
        if let limit = PacedH2LoadContender(options: options, sink: sink, rate: rate, in: bench.workspace) {
            contenders.append(limit)
        } else {
            notes.append(
                "h2load is missing, and with it the sink's own latency: apt-get install \(Tool.h2load.package)"
            )
        }
        let report = Report(
            scenario: name,
            parameters: ["rate": rate, "seconds": seconds, "rounds": rounds, "full_rate": Int(full)],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: rate * seconds, show: [p50, p99, p999]),
            measures: [p50, p99, p999, .rate, .cpu],
            compare: HTTPEngine.compare([p50, p99], of: ["worker"]),
            notes: notes
        )
        return report.with(goals: goals(report))
    }

    /// Less the sink's median, not its own 99th percentile: what the sink adds at its worst counts as the worker's.
    static func goals(_ report: Report) -> [Goal] {
        HTTPEngine.allCases.map { engine in
            let side = engine.side("worker")
            return Goal(
                "p99 from XADD to result of \(side), less the sink's median",
                .atMost(10),
                unit: " ms",
                decimals: 1,
                figure: report.median(p99, of: side).map { $0 - (report.median(p50, of: "sink") ?? 0) }
            )
        }
    }
}
