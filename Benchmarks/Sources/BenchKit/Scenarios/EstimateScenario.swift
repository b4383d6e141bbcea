internal import Foundation

/// How well `fanfare top` says when a fan-out will be over: while its rate climbs, after that, and once it moves again after
/// a pause, its canary and its closed window.
enum EstimateScenario: Scenario {
    static let name = "estimate"
    static let summary = "the time left of a fan-out as `fanfare top` shows it, against the time that it took"
    static let tools = [Tool.nginx, Tool.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        // Paces that one busy core keeps up with: the short run ends within the ramp, the full one long after it.
        let recipients = bench.options.sends(100_000, 1_000_000)
        let quotaPerMinute = bench.form.pick(300_000, 360_000, 360_000)
        let sink = try bench.sink()
        defer { sink.stop() }
        let contenders = EstimateContender.Stop.allCases.flatMap { stop in
            bench.perEngine {
                EstimateContender(bench: $0, sink: sink, quotaPerMinute: quotaPerMinute, stop: stop)
            }
        }
        let measures = [EstimateContender.worst, EstimateContender.median, EstimateContender.estimates]
        let report = Report(
            scenario: name,
            parameters: ["recipients": recipients, "quota_per_minute": quotaPerMinute],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: 1, sends: recipients, show: measures),
            measures: measures + [.rate, .cpu],
            compare: HTTPEngine.compare([EstimateContender.worst], of: ["worker"])
        )
        return report.with(
            goals: EstimateContender.Stop.allCases.map { stop in
                Goal(
                    "worst estimate from the tenth second on\(stop.words)",
                    .atMost(20),
                    unit: " % off",
                    decimals: 1,
                    figure: report.median(EstimateContender.worst, of: stop.side)
                )
            }
        )
    }
}
