/// The worker, with single jobs that come evenly, and a consumer that waits for the results.
struct LatencyContender: Contender {
    let name = "worker"
    let summary: String
    private let bench: Bench
    private let sink: Sink
    /// Jobs a second.
    private let rate: Int
    private let seconds: Int

    init(_ bench: Bench, sink: Sink, rate: Int, seconds: Int) {
        (self.bench, self.sink, self.rate, self.seconds) = (bench, sink, rate, seconds)
        summary = "fanfare worker, from the producer's XADD until its consumer has the result, \(rate) jobs a second"
    }

    /// - Parameter sends: not used: the time is given.
    func run(sends: Int) throws -> RunSample {
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        try fleet.warmUp(bench.options.warmUp, limitSeconds: bench.options.limitSeconds)
        let commands = SinglesPusher(project: Sink.project).commands(rate * seconds)
        let consumer = try ResultFollower(fleet.results, from: fleet.results.mark())
        let (waits, reading) = try fleet.meter(sink: sink) { try exchange(commands, with: fleet, consumer) }
        try fleet.drain()
        return reading.sample(sends: commands.count, figures: try LatencyScenario.figures(waits))
    }

    /// Whatever is due is pushed every millisecond, whether or not what came before has ended.
    /// - Returns: from each push to the arrival of its result, in milliseconds of this process' clock.
    private func exchange(_ commands: [[UInt8]], with fleet: Fleet, _ consumer: ResultFollower) throws -> [Double] {
        let started = Patience.now()
        var pushed = 0
        // A job without an id is named after its entry.
        var pushedAt: [String: Double] = [:]
        var waits: [Double] = []
        let limit = Double(seconds) * 3 + 10
        return try Patience.wait(for: "the results of \(commands.count) jobs", seconds: limit, every: 0) {
            let now = Patience.now()
            let due = min(commands.count, pushed + 500, Int((now - started) * Double(rate)))
            if due > pushed {
                for case .text(let id) in try fleet.redis.client.pipeline(encoded: commands[pushed..<due]) {
                    pushedAt[id] = now
                }
                pushed = due
            }
            let entries = try consumer.next(within: 1)
            let arrived = Patience.now()
            for entry in entries {
                guard let time = pushedAt.removeValue(forKey: entry.job) else {
                    throw BenchError.failed("job \(entry.job) is not named after its entry, or has two results")
                }
                waits.append(1_000 * (arrived - time))
            }
            if entries.isEmpty { try fleet.throwIfEnded() }
            return waits.count == commands.count ? waits : nil
        }
    }
}
