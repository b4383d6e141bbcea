internal import Foundation

/// One send in twenty fails: three in a hundred for good, two in a hundred until they are sent again.
enum MixedScenario: Scenario {
    static let name = "mixed"
    static let summary = "5 % failures and retries: CPU per recipient beside a run without any"
    static let tools = Sink.tools + [.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        let mixed = bench.perEngine { MixedContender($0, sink: sink) }
        let clean = bench.perEngine { bench in
            var clean = WorkerContender(bench, sink: sink)
            clean.name = "clean"
            clean.summary = "the worker where every send goes well"
            return clean
        }
        let contenders = mixed + clean
        let sends = options.sends(20_000, 100_000)
        let rounds = options.rounds(1, 3, 10)
        let report = Report(
            scenario: name,
            parameters: ["recipients": sends, "rounds": rounds, "warm_up": 1_000],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: sends),
            measures: Measure.common + [MixedContender.failedShare],
            compare: [(.cpu, "mixed", "clean"), (.redis, "mixed", "clean")]
                + HTTPEngine.compare([.cpu], of: ["mixed", "clean"]),
            notes: ["the wall time of mixed ends with the last retry, which waits at least 10 s"]
        )
        return report
    }
}
