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

        let seconds = bench.form.pick(3, 15, 60)
        let rounds = options.rounds(1, 3, 10)
        var parameters = ["seconds": seconds, "rounds": rounds, "append_only_file": 1]
        var contenders: [any Contender] = []
        for engine in options.engines {
            var bench = bench
            (bench.engine, bench.persistence) = (engine, .appendOnly)
            let jobs = options.sends(10_000, 50_000)
            let full = try SinglesContender(bench, sink: sink).run(sends: jobs).sendsPerSecond
            let rate = max(1, Int(full / 2))
            Console.note("one worker on \(engine) moves \(Int(full)) jobs a second here; half of that is \(rate)")
            parameters[engine.side("rate")] = rate
            let worker = LatencyContender(bench, sink: sink, rate: rate, seconds: seconds)
            contenders.append(EngineContender(engine: engine, contender: worker))
            let limit = PacedH2LoadContender(
                engine.side("sink"),
                options: options,
                sink: sink,
                rate: rate,
                seconds: seconds,
                in: bench.workspace
            )
            if let limit { contenders.append(limit) }
        }
        let missing = "h2load is missing, and with it the sink's own latency: apt-get install \(Tool.h2load.package)"
        let report = Report(
            scenario: name,
            parameters: parameters,
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: 0, show: [p50, p99, p999]),
            measures: [p50, p99, p999, .rate, .cpu],
            compare: [],
            notes: Tool.h2load.path == nil ? [missing] : []
        )
        return report.with(goals: goals(report))
    }

    /// Less the sink's median, not its own 99th percentile: what the sink adds at its worst counts as the worker's.
    static func goals(_ report: Report) -> [Goal] {
        HTTPEngine.allCases.flatMap { engine in
            let side = engine.side("worker")
            let sink = report.median(p50, of: engine.side("sink")) ?? 0
            func goal(_ percentile: String, _ measure: Measure, _ most: Double) -> Goal {
                Goal(
                    "\(percentile) from XADD to result of \(side), less the sink's median",
                    .atMost(most),
                    unit: " ms",
                    figure: report.median(measure, of: side).map { $0 - sink }
                )
            }
            return engine == .curl
                ? [goal("p50", p50, 2), goal("p99", p99, 8)] : [goal("p50", p50, 1), goal("p99", p99, 4)]
        }
    }
}
