internal import Foundation

/// One fan-out from idle through one worker, watched with `fanfare top --json` as an operator would.
struct EstimateContender: Contender {
    static let worst = Measure.figure("worst_error_percent", "worst %", decimals: 1)
    static let median = Measure.figure("median_error_percent", "median %", decimals: 1)
    static let estimates = Measure.figure("estimates", "estimates", decimals: 0)

    let name = "worker"
    let summary = "one worker with a fan-out from idle, and `fanfare top --json` beside it"
    let bench: Bench
    let sink: Sink
    let quotaPerMinute: Int

    /// One line of `fanfare top --json`, as much of it as counts here.
    struct Line: Decodable {
        struct Project: Decodable { var active: [Job] }
        struct Job: Decodable {
            var id: String
            var total: Int
            var sent: Int
            var started_ms: Double?
            var left_seconds: Double?
        }

        var now_ms: Double
        var projects: [Project]
    }

    func run(sends: Int) throws -> RunSample {
        var settings = WorkerSettings()
        settings.quotaPerMinute = quotaPerMinute
        let content = JobContent.tokens(Payload.tokenArray(sends))
        let fleet = try bench.fleet(sink.target, workers: 1, settings: settings)
        defer { fleet.stop() }
        let top = try Child(
            "top",
            try bench.fanfare(),
            ["top", "--json", "--redis", fleet.redis.url],
            in: bench.workspace
        )
        defer { top.stop() }
        let job = fleet.job("measured")
        let (_, reading) = try fleet.meter(sink: sink) {
            try job.push(content)
            // The quota says how long it takes; twice that is a failure.
            let limit = 120 + 120 * Double(sends) / Double(quotaPerMinute)
            try job.finishFirstPass(seconds: limit, whileRunning: fleet.throwIfEnded)
        }
        top.stop()
        let lines = bench.workspace.read(top.outputFile).split(separator: "\n")
        let errors = Self.errors(
            lines.compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) },
            of: "measured",
            endMs: try job.firstPassMs()
        )
        guard let worst = errors.max() else { throw BenchError.failed("`fanfare top --json` gave no estimate") }
        let figures = [
            Self.worst.name: worst, Self.median.name: errors.sorted()[errors.count / 2],
            Self.estimates.name: Double(errors.count),
        ]
        return reading.sample(sends: sends, figures: figures)
    }

    /// How far each estimate was from the truth, in per cent: from the tenth second of the job to nine tenths of its
    /// recipients. A line without an estimate is as wrong as can be.
    static func errors(_ lines: [Line], of id: String, endMs: Double) -> [Double] {
        lines.compactMap { line in
            guard let job = line.projects.lazy.flatMap(\.active).first(where: { $0.id == id }),
                let startedMs = job.started_ms, line.now_ms >= startedMs + 10_000, job.sent * 10 <= job.total * 9,
                line.now_ms < endMs
            else { return nil }
            guard let left = job.left_seconds else { return 100 }
            return 100 * abs(left * 1_000 / (endMs - line.now_ms) - 1)
        }
    }
}
