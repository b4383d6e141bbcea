internal import Foundation

/// One fan-out over HTTP v1, in batches of 1,000 recipients, one stream for each recipient.
enum V1Scenario: Scenario {
    static let name = "v1"
    static let summary = "a fan-out over HTTP v1: CPU per send of the worker beside libcurl alone"
    static let tools = Sink.tools + [.redisServer]

    private static let workerOnNGHTTP2 = HTTPEngine.nghttp2.side("worker")

    static func run(_ bench: Bench) throws -> Report {
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        var notes: [String] = []
        var contenders: [any Contender] = [FloorContender(bench, sink: sink)]
        if bench.executable != nil {
            contenders += bench.perEngine { WorkerContender($0, sink: sink) }
            if let before = WorkerContender(bench, sink: sink).before { contenders.append(before) }
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
            ]
                + ["go", "h2load"].flatMap { [(.cpu, workerOnNGHTTP2, $0), (.rate, workerOnNGHTTP2, $0)] }
                + HTTPEngine.compare([.cpu, .rate], of: ["worker"]),
            notes: notes
        )
        return report.with(goals: goals(report, hasLibcurl8: FloorLoop.curlVersion.hasPrefix("libcurl/8")))
    }

    /// libcurl 8 writes a request in one piece, and is compared by another measure.
    static func goals(_ report: Report, hasLibcurl8: Bool) -> [Goal] {
        func ratio(_ other: String) -> Double? { report.ratio(.cpu, "worker", other) }
        let admin = ratio("firebase-admin").map { 1 / $0 }
        let curl = [
            Goal("CPU per send, worker over floor", .atMost(1.25), figure: ratio("floor")),
            Goal("CPU per send, worker over Go's bare loop", .atMost(hasLibcurl8 ? 0.9 : 1.1), figure: ratio("go")),
            Goal("CPU per send, firebase-admin over worker", .atLeast(30), decimals: 1, figure: admin),
            Goal("CPU per send, worker over h2load", .atMost(hasLibcurl8 ? 2.3 : 3.2), figure: ratio("h2load")),
        ]
        return curl + nghttp2Goals(report, hasLibcurl8: hasLibcurl8)
    }

    /// The comparison with the worker on libcurl has a goal for libcurl 7 only.
    private static func nghttp2Goals(_ report: Report, hasLibcurl8: Bool) -> [Goal] {
        func goal(_ name: String, _ side: String, atMost limit: Double) -> Goal {
            Goal(
                "CPU per send, \(workerOnNGHTTP2) over \(name)",
                .atMost(limit),
                figure: report.ratio(.cpu, workerOnNGHTTP2, side)
            )
        }
        let goals = [goal("Go's bare loop", "go", atMost: 0.65), goal("h2load", "h2load", atMost: 2.2)]
        return hasLibcurl8 ? goals : goals + [goal("worker", "worker", atMost: 0.6)]
    }
}
