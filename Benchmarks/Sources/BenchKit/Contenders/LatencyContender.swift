internal import Foundation

/// The worker, with single jobs that come evenly.
struct LatencyContender: Contender {
    let name = "worker"
    let summary: String
    private let bench: Bench
    private let sink: Sink
    /// Jobs a second.
    private let rate: Int

    init(_ bench: Bench, sink: Sink, rate: Int) {
        self.bench = bench
        self.sink = sink
        self.rate = rate
        summary = "fanfare worker, from the entry in the stream to its result, \(rate) jobs a second"
    }

    func run(sends: Int) throws -> RunSample {
        let limit = bench.options.limitSeconds
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        try fleet.warmUp(bench.options.warmUp, limitSeconds: limit)
        let mark = try fleet.results.mark()
        let commands = (0..<sends).map(SinglesPusher(project: Sink.project).command)
        let (_, reading) = try fleet.meter(sink: sink) { try pace(commands, to: fleet) }
        let waits = try waits(fleet, since: mark, count: sends)
        try fleet.drain()
        return reading.sample(sends: sends, figures: try LatencyScenario.figures(waits))
    }

    /// Whatever is due is pushed every millisecond, whether or not what came before has ended.
    private func pace(_ commands: [[String]], to fleet: Fleet) throws {
        let started = Patience.now()
        var pushed = 0
        let seconds = Double(commands.count) / Double(rate) * 3 + 10
        try Patience.wait(for: "the pushes", seconds: seconds, every: 0.001) { () -> Void? in
            let due = min(commands.count, pushed + 500, Int((Patience.now() - started) * Double(rate)))
            if due > pushed {
                try fleet.redis.client.pipeline(Array(commands[pushed..<due]))
                pushed = due
            }
            return pushed == commands.count ? () : nil
        }
    }

    /// From an entry to its result, in milliseconds. A job without an id is called after its entry.
    private func waits(_ fleet: Fleet, since mark: ResultStream.Mark, count: Int) throws -> [Double] {
        let results = fleet.results
        let limit = bench.options.limitSeconds
        try results.wait(for: count, since: mark, seconds: limit, whileRunning: fleet.throwIfEnded)
        var waits: [Double] = []
        try results.read(since: mark) { entry in
            guard let pushedMs = StreamID.milliseconds(entry.job) else {
                throw BenchError.failed("job \(entry.job) is not called after its entry")
            }
            waits.append(Double(entry.writtenMs - pushedMs))
        }
        guard waits.count == count else { throw BenchError.failed("\(waits.count) results for \(count) jobs") }
        return waits
    }
}
