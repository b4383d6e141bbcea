internal import Foundation

/// One fan-out, shared by more and more worker processes.
///
/// Each is held to so few requests in flight that one core is enough for all: what is measured is whether processes
/// share a fan-out well, not how many cores this machine has.
enum ScaleScenario: Scenario {
    static let name = "scale"
    static let summary = "1, 2 and 4 worker processes on one fan-out: throughput, and CPU per send of all together"
    static let tools = Sink.tools + [.redisServer, .echoModule]

    static let counts = [1, 2, 4]
    private static let inFlight = 200
    private static let delaySeconds = 0.1

    static func side(_ count: Int) -> String { count == 1 ? "1 worker" : "\(count) workers" }

    static func run(_ bench: Bench) throws -> Report {
        let startedAt = Date()
        let sink = try bench.sink(Sink.Traits(delaySeconds: delaySeconds))
        defer { sink.stop() }

        let rounds = bench.options.rounds(1, 3, 10)
        let seconds = bench.form.pick(2.0, 10.0, 20.0)
        var runs: [String: [RunSample]] = [:]
        var contenders: [any Contender] = []
        for count in counts {
            let workers = bench.perEngine { bench in
                var worker = WorkerContender(bench, sink: sink)
                worker.name = side(count)
                worker.summary = "each at most \(inFlight) in flight"
                worker.workers = count
                worker.settings.maximumInFlight = inFlight
                worker.settings.maximumLanes = 2
                worker.warmUp = 2_000 * count
                return worker
            }
            contenders += workers
            let sends = Int(Double(inFlight * count) / delaySeconds * seconds) / 1_000 * 1_000
            runs.merge(try Rounds.run(workers, rounds: rounds, sends: sends)) { $1 }
        }
        return Report(
            scenario: name,
            parameters: ["rounds": rounds, "delay_ms": Int(delaySeconds * 1_000), "in_flight_each": inFlight],
            startedAt: startedAt,
            contenders: contenders,
            runs: runs,
            compare: counts.dropFirst().flatMap { count in
                [Measure.rate, .cpu, .redis].map { ($0, side(count), side(1)) }
            } + HTTPEngine.compare([.rate, .cpu], of: counts.map(side))
        )
    }
}
