internal import Foundation

/// The legacy protocol's requests of 1,000 recipients: what the worker's own work is worth, with HTTP out of the way.
enum MulticastScenario: Scenario {
    static let name = "multicast"
    static let summary = "legacy requests of 1,000 recipients: recipients per CPU-second"
    static let tools = Sink.tools + [.redisServer, .echoModule]

    private static let warmUp = 20_000

    /// Of the worker process, or of what is compared.
    static let perCPUSecond = Measure(name: "recipients_per_cpu_second", heading: "per CPU-s", decimals: 0) { run in
        run.cpuSeconds.map { Double(run.sends) / $0 }
    }

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink(Sink.Traits(servesMulticast: true))
        defer { sink.stop() }

        var notes: [String] = []
        var contenders = bench.perEngine { worker($0, sink: sink) }
        if let before = worker(bench, sink: sink).before { contenders.append(before) }
        if options.rivals { contenders += try Rivals.multicast(options, in: bench.workspace, notes: &notes) }
        // Only whole thousands: the canned answer has a thousand results.
        let sends = options.sends(100_000, 300_000) / 1_000 * 1_000
        let rounds = options.rounds(1, 5, 10)
        let report = Report(
            scenario: name,
            parameters: ["recipients": sends, "rounds": rounds, "warm_up": warmUp],
            startedAt: startedAt,
            contenders: contenders,
            runs: try Rounds.run(contenders, rounds: rounds, sends: sends, show: [perCPUSecond, .rate]),
            measures: [perCPUSecond] + Measure.common,
            compare: [
                (.rate, "worker", "redis-benchmark"), (.cpu, "worker", "redis-benchmark"),
                (.cpu, "worker", Bench.beforeName),
            ] + HTTPEngine.compare([perCPUSecond], of: ["worker"]),
            notes: notes
        )
        return report.with(goals: [
            Goal(
                "recipients per CPU-second of the worker",
                .atLeast(150_000),
                decimals: 0,
                figure: report.median(perCPUSecond, of: "worker")
            )
        ])
    }

    private static func worker(_ bench: Bench, sink: Sink) -> WorkerContender {
        var worker = WorkerContender(bench, sink: sink)
        worker.summary = "fanfare worker, requests of 1,000 recipients, from stream entry to recorded result"
        worker.settings.transport = "legacy"
        worker.message = "{\(Payload.legacyFields)}"
        worker.format = "legacy"
        worker.warmUp = warmUp
        return worker
    }
}
