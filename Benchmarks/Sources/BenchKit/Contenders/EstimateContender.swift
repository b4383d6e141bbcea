internal import Foundation

/// One fan-out from idle through one worker, watched with `fanfare top --json` as an operator would. It may stop on its way.
struct EstimateContender: Contender {
    static let worst = Measure.figure("worst_error_percent", "worst %", decimals: 1)
    static let median = Measure.figure("median_error_percent", "median %", decimals: 1)
    static let estimates = Measure.figure("estimates", "estimates", decimals: 0)

    /// Why the fan-out stands still for a while.
    enum Stop: String, CaseIterable {
        case none, pause, canary, window

        var side: String { self == .none ? "worker" : "worker-\(rawValue)" }

        var words: String { self == .none ? "" : " after a \(rawValue)" }
    }

    var name: String { stop.side }
    var summary: String { "one worker with a fan-out from idle\(stop.words), and `fanfare top --json` beside it" }
    let bench: Bench
    let sink: Sink
    let quotaPerMinute: Int
    var stop = Stop.none

    /// One line of `fanfare top --json`, as much of it as counts here.
    struct Line: Decodable {
        struct Project: Decodable {
            var active: [Job]
            var waiting: [Job]
            var others: [Job]

            var jobs: [Job] { active + waiting + others }
        }

        struct Job: Decodable {
            var id: String
            var state: String
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
        var content = JobContent.tokens(Payload.tokenArray(sends))
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
            if stop == .window { Self.waitForTheEndOfAMinute() }
            content.more = guards(sends, at: Date())
            try job.push(content)
            try standStill(job, of: fleet)
            // The quota says how long it takes; twice that is a failure.
            let limit = 240 + 120 * Double(sends) / Double(quotaPerMinute)
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

    /// Returns ten seconds before a minute ends: a window closes at a minute, and a short fan-out ends within the next.
    private static func waitForTheEndOfAMinute() {
        let second = Date().timeIntervalSince1970.truncatingRemainder(dividingBy: 60)
        Thread.sleep(forTimeInterval: (110 - second).truncatingRemainder(dividingBy: 60))
    }

    /// The guards that stop the job: a canary of a tenth, or a window that is closed for the next minute.
    private func guards(_ sends: Int, at now: Date) -> [String] {
        func clock(_ minutes: Double) -> String {
            let time = Calendar(identifier: .iso8601).dateComponents(
                in: TimeZone(identifier: "UTC") ?? .current,
                from: now.addingTimeInterval(60 * minutes)
            )
            return String(format: "%02d:%02d", time.hour ?? 0, time.minute ?? 0)
        }
        switch stop {
        case .none, .pause: return []
        case .canary: return ["canary", "\(sends / 10)"]
        case .window: return ["send_window", "\(clock(2))-\(clock(1)) UTC"]
        }
    }

    /// Returns once the job moves again.
    private func standStill(_ job: JobWatch, of fleet: Fleet) throws {
        let check = fleet.throwIfEnded
        func command(_ verb: String) throws {
            let arguments = ["job", verb, job.id, "--project", job.project, "--redis", fleet.redis.url]
            let child = try Child("job-\(verb)", try bench.fanfare(), arguments, in: bench.workspace)
            try child.finish(seconds: 30)
        }
        switch stop {
        case .none: return
        case .pause:
            try job.wait(for: ["active"], seconds: 60, whileRunning: check)
            Thread.sleep(forTimeInterval: 8)
            try command("pause")
        case .canary: break
        case .window: try job.wait(for: ["waiting"], seconds: 150, whileRunning: check)
        }
        if stop != .window {
            try job.wait(for: ["paused"], seconds: 120, whileRunning: check)
            Thread.sleep(forTimeInterval: 20)
            try command("resume")
        }
        try job.wait(for: ["active"], seconds: 150, whileRunning: check)
    }

    /// How far each estimate was from the truth, in per cent: from the tenth second since the job moves, the last time, to
    /// nine tenths of its recipients. A line without an estimate is as wrong as can be.
    static func errors(_ lines: [Line], of id: String, endMs: Double) -> [Double] {
        func job(_ line: Line) -> Line.Job? { line.projects.lazy.flatMap(\.jobs).first { $0.id == id } }
        let stoodMs = lines.last { line in
            job(line).map { $0.started_ms != nil && !["active", "retrying"].contains($0.state) } ?? false
        }?.now_ms
        return lines.compactMap { line in
            guard let job = job(line), let startedMs = job.started_ms,
                line.now_ms >= max(startedMs, stoodMs ?? 0) + 10_000, job.sent * 10 <= job.total * 9,
                line.now_ms < endMs
            else { return nil }
            guard let left = job.left_seconds else { return 100 }
            return 100 * abs(left * 1_000 / (endMs - line.now_ms) - 1)
        }
    }
}
