internal import Foundation

/// What a fleet costs that has nothing to do: each worker serves every project.
enum IdleScenario: Scenario {
    static let name = "idle"
    static let summary =
        "many projects with nothing to send: CPU of Redis and of a worker, and time until all are served"
    static let tools = Sink.tools + [.redisServer]

    private static let sizes = [(projects: 1, workers: 1), (200, 2), (200, 6), (1_000, 1), (1_000, 10)]

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        let seconds = bench.form.pick(5.0, 20, 60)
        let rounds = bench.options.rounds(1, 1, 3)
        let isShort = bench.form == .short
        var contenders: [any Contender] = sizes.prefix(isShort ? 2 : sizes.count).map {
            IdleContender(bench, name: side($0), projects: $0.projects, workers: $0.workers, seconds: seconds)
        }
        if !isShort {
            for (name, projects) in [("20 busy of 1000", 1_000), ("20 busy alone", 20)] {
                contenders.append(
                    IdleContender(bench, name: name, projects: projects, workers: 10, busy: 20, seconds: seconds)
                )
            }
        }
        let measures = [
            IdleContender.redisShare, IdleContender.workerShare, IdleContender.commands, IdleContender.served, .memory,
        ]
        let report = Report(
            scenario: name,
            parameters: ["measured_seconds": Int(seconds), "rounds": rounds],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: 0, show: measures),
            measures: measures,
            compare: [(IdleContender.redisShare, "20 busy of 1000", "20 busy alone")]
        )
        return report.with(goals: goals(report))
    }

    private static func side(_ size: (projects: Int, workers: Int)) -> String { "\(size.projects) x \(size.workers)" }

    static func goals(_ report: Report) -> [Goal] {
        func goal(_ measure: Measure, _ words: String, _ side: String, _ most: Double, _ unit: String) -> Goal {
            Goal("\(words), \(side)", .atMost(most), unit: unit, figure: report.median(measure, of: side))
        }
        let redis = { goal(IdleContender.redisShare, "CPU of Redis, projects x workers", $0, $1, " %") }
        let worker = { goal(IdleContender.workerShare, "CPU of a worker, projects x workers", $0, $1, " %") }
        return [
            redis("200 x 2", 1), redis("200 x 6", 1), redis("1000 x 10", 3), worker("200 x 2", 1),
            worker("1000 x 1", 3),
            goal(IdleContender.served, "time until all are served", "1000 x 1", 5, " s"),
            goal(.memory, "memory of a worker", "1000 x 1", 150, " MB"),
            Goal(
                "CPU of Redis, 20 busy projects among 1,000 over 20 alone",
                .atMost(1.1),
                figure: report.ratio(IdleContender.redisShare, "20 busy of 1000", "20 busy alone")
            ),
        ]
    }
}
