internal import Foundation

/// A fan-out that would use more than there is: how much of the quota is used, once the ramp is over.
enum QuotaScenario: Scenario {
    static let name = "quota"
    static let summary = "a project's quota at saturation: the share that is used, and what FCM refuses"
    static let tools = [Tool.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        let seconds = bench.form.pick(5, 60, 180)
        let rounds = bench.options.rounds(1, 1, 3)
        let contenders = bench.perEngine { QuotaContender($0, seconds: seconds) }
        let report = Report(
            scenario: name,
            parameters: [
                "quota_per_minute": QuotaContender.quotaPerMinute, "ramp_seconds": QuotaContender.rampSeconds,
                "measured_seconds": seconds, "rounds": rounds, "workers": QuotaContender.workers,
            ],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(
                contenders,
                rounds: rounds,
                sends: 0,
                show: [QuotaContender.used, QuotaContender.refused]
            ),
            measures: [QuotaContender.used, QuotaContender.refused, .cpu, .redis],
            compare: HTTPEngine.compare([QuotaContender.used], of: ["worker"])
        )
        return report.with(goals: [
            Goal(
                "quota used after the ramp",
                .atLeast(98),
                unit: " %",
                decimals: 1,
                figure: report.median(QuotaContender.used, of: "worker")
            ),
            Goal(
                "sends refused with 429",
                .atMost(0),
                decimals: 0,
                figure: report.largest(QuotaContender.refused, of: "worker")
            ),
        ])
    }
}
