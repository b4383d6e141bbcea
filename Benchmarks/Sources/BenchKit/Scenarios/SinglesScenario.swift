internal import Foundation

/// One token to a job: what a push to one person costs beside a recipient of a large fan-out.
enum SinglesScenario: Scenario {
    static let name = "singles"
    static let summary = "one token to a job: CPU of worker and Redis beside batches and bare queues, and jobs a second"
    static let tools = Sink.tools + [.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        var bench = bench
        bench.persistence = .appendOnly
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        var contenders = bench.perEngine { SinglesContender($0, sink: sink) }
        contenders += bench.perEngine { bench in
            var batches = WorkerContender(bench, sink: sink)
            batches.name = "batches"
            batches.summary = "the worker with one job of as many tokens"
            return batches
        }
        if let bench = bench.before {
            var before = SinglesContender(bench, sink: sink)
            before.name = Bench.beforeName
            contenders.append(before)
        }
        if options.rivals { contenders += Rivals.singles(in: bench.workspace) }
        let sends = options.sends(20_000, 100_000)
        let rounds = options.rounds(1, 5, 10)
        let report = Report(
            scenario: name,
            parameters: ["sends": sends, "rounds": rounds, "warm_up": options.warmUp, "append_only_file": 1],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: sends),
            compare: [
                (.cpu, "singles", Bench.beforeName), (.cpu, "singles", "batches"), (.rate, "singles", "batches"),
                (.redis, "singles", "batches"), (.redis, "singles", "bare-loop"), (.redis, "singles", "asynq"),
            ] + HTTPEngine.compare([.cpu, .rate], of: ["singles"])
        )
        return report.with(goals: [
            Goal(
                "CPU per send, singles over batches",
                .atMost(1.5),
                figure: report.ratio(.cpu, "singles", "batches")
            ),
            Goal(
                "jobs a second through one worker",
                .atLeast(10_000),
                decimals: 0,
                figure: report.median(.rate, of: "singles")
            ),
        ])
    }
}
