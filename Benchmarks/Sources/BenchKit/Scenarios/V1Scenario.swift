internal import Foundation

/// One fan-out over HTTP v1, in batches of 1,000 recipients, one stream for each recipient.
enum V1Scenario: Scenario {
    static let name = "v1"
    static let summary = "a fan-out over HTTP v1: CPU per send of the worker beside libcurl alone"
    static let tools = Sink.tools + [.redisServer]

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        var notes: [String] = []
        var contenders: [any Contender] = [FloorContender(bench, sink: sink)]
        if bench.executable != nil {
            let worker = WorkerContender(bench, sink: sink)
            contenders.append(worker)
            if let before = worker.before { contenders.append(before) }
        }
        if let limit = H2LoadContender(options: options, sink: sink, in: bench.workspace) {
            contenders.append(limit)
        } else if options.h2load {
            notes.append("h2load is missing and left out: apt-get install \(Tool.h2load.package)")
        }
        if options.rivals {
            contenders += try Rivals.v1(
                options,
                sink: sink,
                certificates: bench.certificates,
                in: bench.workspace,
                notes: &notes
            )
        }

        let sends = options.sends(30_000, 100_000)
        let rounds = options.rounds(1, 5, 10)
        let runs = try Rounds.run(contenders, rounds: rounds, sends: sends)
        let report = Report(
            scenario: name,
            parameters: [
                "sends": sends, "rounds": rounds, "warm_up": options.warmUp, "lanes": options.lanes,
                "streams": options.streams, "cork": options.cork ? 1 : 0,
            ],
            startedAt: startedAt,
            contenders: contenders,
            runs: runs,
            compare: [
                (.cpu, "worker", "floor"), (.cpu, "worker", "go"), (.cpu, "worker", "firebase-admin"),
                (.cpu, "worker", Bench.beforeName), (.cpu, "worker", "h2load"), (.cpu, "floor", "h2load"),
                (.rate, "worker", "floor"),
            ],
            notes: notes
        )
        return report.with(goals: goals(report, hasLibcurl8: FloorLoop.curlVersion.hasPrefix("libcurl/8")))
    }

    /// libcurl 8 writes a request in one piece, and is compared by another measure.
    static func goals(_ report: Report, hasLibcurl8: Bool) -> [Goal] {
        func ratio(_ other: String) -> Double? { report.ratio(.cpu, "worker", other) }
        let admin = ratio("firebase-admin").map { 1 / $0 }
        return [
            Goal("CPU per send, worker over floor", .atMost(1.25), figure: ratio("floor")),
            Goal("CPU per send, worker over Go's bare loop", .atMost(hasLibcurl8 ? 0.9 : 1.1), figure: ratio("go")),
            Goal("CPU per send, firebase-admin over worker", .atLeast(30), decimals: 1, figure: admin),
            Goal("CPU per send, worker over h2load", .atMost(hasLibcurl8 ? 2.3 : 3.2), figure: ratio("h2load")),
        ]
    }
}
