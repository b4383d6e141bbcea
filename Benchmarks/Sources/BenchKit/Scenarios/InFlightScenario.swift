internal import Foundation

/// More and more requests under way at once, to a server that takes its time.
enum InFlightScenario: Scenario {
    static let name = "inflight"
    static let summary = "100 to 3,000 requests in flight, answers after 100 ms: throughput and CPU per send"
    static let tools = Sink.tools + [.redisServer, .echoModule]

    static let levels = [100, 300, 1_000, 3_000]
    static let streams = 100
    private static let delaySeconds = 0.1

    static func worker(_ level: Int) -> String { "worker-\(level)" }
    static func workerOnNGHTTP2(_ level: Int) -> String { HTTPEngine.nghttp2.side(worker(level)) }
    static func floor(_ level: Int) -> String { "floor-\(level)" }

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        let sink = try bench.sink(Sink.Traits(delaySeconds: delaySeconds))
        defer { sink.stop() }

        let rounds = bench.options.rounds(1, 3, 10)
        let seconds = bench.form.pick(1.5, 6.0, 10.0)
        var runs: [String: [RunSample]] = [:]
        var contenders: [any Contender] = []
        for level in levels {
            let sides = Self.sides(bench, sink: sink, level: level)
            contenders += sides
            runs.merge(try Rounds.run(sides, rounds: rounds, sends: sends(level, seconds: seconds))) { $1 }
        }
        let report = Report(
            scenario: name,
            parameters: ["rounds": rounds, "delay_ms": Int(delaySeconds * 1_000), "streams": streams],
            startedAt: startedAt,
            contenders: contenders,
            runs: runs,
            compare: levels.flatMap { level in
                [Measure.cpu, .rate].map { ($0, worker(level), floor(level)) }
            } + HTTPEngine.compare([.cpu, .rate], of: levels.map(worker)) + [
                (.cpu, worker(3_000), worker(100)), (.cpu, floor(3_000), floor(100)),
                (.cpu, workerOnNGHTTP2(3_000), workerOnNGHTTP2(100)),
            ]
        )
        return report.with(goals: goals(report))
    }

    /// As many as so many seconds take, as long as the CPU allows it.
    static func sends(_ level: Int, seconds: Double) -> Int {
        min(Int(Double(level) / delaySeconds * seconds), Int(15_000 * seconds)) / 1_000 * 1_000
    }

    static func goals(_ report: Report) -> [Goal] {
        let own = report.ratio(.cpu, worker(3_000), worker(100))
        let floors = report.ratio(.cpu, floor(3_000), floor(100))
        let figure: Double? = if let own, let floors { own / floors } else { nil }
        return [
            Goal("CPU per send at 3,000 over 100 in flight, worker's over floor's", .atMost(1.1), figure: figure),
            Goal(
                "CPU per send at 3,000 over 100 in flight, worker on nghttp2",
                .atMost(1.1),
                figure: report.ratio(.cpu, workerOnNGHTTP2(3_000), workerOnNGHTTP2(100))
            ),
        ]
    }

    private static func sides(_ bench: Bench, sink: Sink, level: Int) -> [any Contender] {
        let lanes = max(1, level / streams)
        // Enough for the worker's limit, which starts at a hundred, to reach the level.
        let warmUp = max(1_000, 3 * level)
        let workers = bench.perEngine { bench in
            var worker = WorkerContender(bench, sink: sink)
            worker.name = Self.worker(level)
            worker.summary = "the worker, at most \(level) in flight on \(lanes) connections"
            worker.settings.maximumInFlight = level
            worker.settings.maximumLanes = lanes
            worker.warmUp = warmUp
            return worker
        }
        return workers + [FloorContender(bench, sink: sink, name: floor(level), lanes: lanes, warmUp: warmUp)]
    }
}
