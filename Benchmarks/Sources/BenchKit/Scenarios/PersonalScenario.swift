internal import Foundation

/// A message for each recipient of a fan-out, beside the same fan-out with equal messages and a job for each recipient.
enum PersonalScenario: Scenario {
    static let name = "personal"
    static let summary = "a message for each recipient: CPU per send beside equal messages, and bytes in Redis"
    static let tools = Sink.tools + [.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        let contenders = contenders(bench, sink: sink)
        let sends = options.sends(30_000, 100_000)
        let rounds = options.rounds(1, 5, 10)
        let bytes = try waitingBytes(bench, sink: sink, count: sends)
        let report = Report(
            scenario: name,
            parameters: ["sends": sends, "rounds": rounds, "warm_up": options.warmUp],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: sends),
            compare: [
                (.cpu, "personal", "equal"), (.cpu, "singles", "personal"), (.rate, "personal", "equal"),
                (.redis, "personal", "equal"),
            ] + HTTPEngine.compare([.cpu], of: ["equal", "personal"]),
            notes: [String(format: "Redis holds %.1f bytes for a waiting recipient beside its element", bytes)]
        )
        return report.with(goals: [
            Goal("CPU per send, personal over equal", .atMost(1.15), figure: report.ratio(.cpu, "personal", "equal")),
            Goal("bytes in Redis for a waiting recipient, beside its element", .atMost(10), decimals: 1, figure: bytes),
        ])
    }

    private static func contenders(_ bench: Bench, sink: Sink) -> [any Contender] {
        let equal = bench.perEngine { bench in
            var equal = WorkerContender(bench, sink: sink)
            (equal.name, equal.summary) = ("equal", "one fan-out, the same message for every recipient")
            return equal
        }
        let personal = bench.perEngine { bench in
            var personal = WorkerContender(bench, sink: sink)
            (personal.name, personal.summary) = ("personal", "one fan-out, two values for each recipient")
            (personal.message, personal.isPersonal) = (Payload.personalMessage, true)
            return personal
        }
        return equal + personal + bench.perEngine { SinglesContender($0, sink: sink) }
    }

    /// What Redis holds for each recipient of a scheduled job, less the recipient's element.
    private static func waitingBytes(_ bench: Bench, sink: Sink, count: Int) throws -> Double {
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        try fleet.warmUp(bench.options.warmUp, limitSeconds: bench.options.limitSeconds)
        let before = try fleet.redis.keyBytes()
        var content = JobContent(target: .recipients(Payload.recipientArray(count)), message: Payload.personalMessage)
        content.notBefore = Int(Date().timeIntervalSince1970 * 1_000) + 3_600_000
        let job = fleet.job("waiting")
        try job.push(content)
        try job.waitUntilScheduled(seconds: bench.options.limitSeconds, whileRunning: fleet.throwIfEnded)
        let elements = (0..<count).reduce(0) { $0 + Payload.element($1).utf8.count }
        return Double(try fleet.redis.keyBytes() - before - elements) / Double(count)
    }
}
