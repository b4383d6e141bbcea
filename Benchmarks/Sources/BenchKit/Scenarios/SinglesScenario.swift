internal import Foundation

/// One token to a job: what a push to one person costs beside a recipient of a large fan-out, and beside other queues.
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

        let contenders = contenders(bench, sink: sink)
        let sends = options.sends(20_000, 100_000)
        let rounds = options.rounds(1, 5, 10)
        let runs = try Rounds.run(contenders, rounds: rounds, sends: sends, show: [.cpu, .redis, .rate])
        let report = Report(
            scenario: name,
            parameters: ["sends": sends, "rounds": rounds, "warm_up": options.warmUp, "append_only_file": 1],
            startedAt: startedAt,
            contenders: contenders,
            runs: runs,
            measures: Measure.common + [SinglesContender.keptBytes],
            compare: compare,
            notes: [
                "Redis writes an append-only file and syncs it every second",
                "mix ends when one job in a thousand is left, and is without what waiting for its retries costs",
            ]
                + sides.compactMap { CommandCalls.note($0, runs[$0] ?? []) }
        )
        return report.with(goals: goals(report))
    }

    private static let sides = HTTPEngine.allCases.map { $0.side("singles") } + [Bench.beforeName]

    private static func contenders(_ bench: Bench, sink: Sink) -> [any Contender] {
        var contenders = bench.perEngine { SinglesContender($0, sink: sink) }
        contenders += bench.perEngine { bench in
            var batches = WorkerContender(bench, sink: sink)
            batches.name = "batches"
            batches.summary = "the worker with one job of as many tokens"
            return batches
        }
        for course in [SinglesContender.Course.withID, .mix] {
            contenders += bench.perEngine { SinglesContender($0, sink: sink, course: course) }
        }
        if let bench = bench.before {
            var before = SinglesContender(bench, sink: sink)
            before.name = Bench.beforeName
            contenders.append(before)
        }
        return contenders + (bench.options.rivals ? Rivals.singles(bench.options, in: bench.workspace) : [])
    }

    static let compare =
        HTTPEngine.allCases.flatMap { engine -> [(Measure, String, String)] in
            let (singles, withID, mix) = (engine.side("singles"), engine.side("with-id"), engine.side("mix"))
            return [
                (.cpu, singles, engine.side("batches")), (.rate, singles, engine.side("batches")),
                (.redis, singles, engine.side("batches")), (.redis, singles, "bare-loop"), (.redis, singles, "asynq"),
                (.cpu, withID, singles), (.redis, withID, singles), (.cpu, mix, singles), (.redis, mix, singles),
            ]
        } + [(.cpu, "singles", Bench.beforeName), (.redis, "singles", Bench.beforeName)]
        + HTTPEngine.compare([.cpu, .rate], of: ["singles"])

    static func goals(_ report: Report) -> [Goal] {
        let ofEach = HTTPEngine.allCases.flatMap { engine -> [Goal] in
            let (singles, withID, mix) = (engine.side("singles"), engine.side("with-id"), engine.side("mix"))
            return [
                Goal(
                    "CPU of Redis per job, \(singles)",
                    .atMost(30),
                    unit: " µs",
                    decimals: 1,
                    figure: report.median(.redis, of: singles)
                ),
                ratio(report, .redis, singles, over: "bare-loop", 5),
                ratio(report, .cpu, singles, over: engine.side("batches"), engine == .curl ? 1.5 : 2),
                ratio(report, .redis, withID, over: singles, 1.1),
                ratio(report, .cpu, mix, over: singles, 1.1),
                ratio(report, .redis, mix, over: singles, 1.1),
                Goal(
                    "bytes that Redis keeps for a finished job, \(singles)",
                    .atMost(350),
                    decimals: 0,
                    figure: report.median(SinglesContender.keptBytes, of: singles)
                ),
            ]
        }
        let nghttp2 = HTTPEngine.nghttp2.side("singles")
        return ofEach + [
            Goal(
                "CPU of the worker per job, \(nghttp2)",
                .atMost(25),
                unit: " µs",
                decimals: 1,
                figure: report.median(.cpu, of: nghttp2)
            ),
            Goal(
                "jobs a second, \(nghttp2)",
                .atLeast(20_000),
                decimals: 0,
                figure: report.median(.rate, of: nghttp2)
            ),
        ]
    }

    private static func ratio(
        _ report: Report,
        _ measure: Measure,
        _ side: String,
        over other: String,
        _ most: Double
    ) -> Goal {
        let words = measure.name == Measure.redis.name ? "CPU of Redis" : "CPU of the worker"
        return Goal(
            "\(words) per job, \(side) over \(other)",
            .atMost(most),
            figure: report.ratio(measure, side, other)
        )
    }
}
