/// The worker, with a job for every token.
struct SinglesContender: Contender {
    var name = "singles"
    let summary = "fanfare worker, one job for each token, pushed as fast as Redis takes them"
    private let bench: Bench
    private let sink: Sink

    init(_ bench: Bench, sink: Sink) {
        self.bench = bench
        self.sink = sink
    }

    func run(sends: Int) throws -> RunSample {
        let limit = bench.options.limitSeconds
        let pusher = SinglesPusher(project: Sink.project)
        let commands = pusher.commands(sends)
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        try fleet.warmUp(bench.options.warmUp, limitSeconds: limit)
        let mark = try fleet.results.mark()
        let (span, reading) = try fleet.meter(sink: sink) {
            let first = try pusher.push(commands, to: fleet.redis)
            return try (first, Self.finish(fleet, since: mark, count: sends, limitSeconds: limit))
        }
        try fleet.drain()
        // By Redis's clock, from the first entry to the last result: the harness looks in between, and not all the time.
        var sample = reading.sample(sends: sends)
        sample.wallSeconds = max(0.001, Double(span.1 - span.0) / 1_000)
        return sample
    }

    /// Waits until so many results are there, one entry for each job; a failed one is an error.
    /// - Returns: when the last one was written.
    private static func finish(
        _ fleet: Fleet,
        since mark: ResultStream.Mark,
        count: Int,
        limitSeconds: Double
    ) throws -> Int {
        let results = fleet.results
        try results.wait(for: count, since: mark, seconds: limitSeconds, whileRunning: fleet.throwIfEnded)
        var sent = 0
        var lastMs = 0
        try results.read(since: mark) { entry in
            sent += ResultStream.occurrences(of: "\"status\":\"sent\"", in: entry.results)
            lastMs = entry.writtenMs
        }
        guard sent == count else { throw BenchError.failed("\(sent) of \(count) jobs were sent") }
        return lastMs
    }
}

/// Pushes jobs of one token each.
struct SinglesPusher {
    let project: String

    /// `XADD` commands as Redis reads them. Made ahead: the producer's work is not the worker's.
    func commands(_ count: Int) -> [[UInt8]] { (0..<count).map { RESPClient.bytes(command($0)) } }

    private func command(_ index: Int) -> [String] {
        ["XADD", "fanfare:{\(project)}:jobs", "*", "message", Payload.message, "token", Payload.token(index)]
    }

    /// Pushes in pipelines of 500.
    /// - Returns: when the first entry was written, in Redis's milliseconds.
    @discardableResult
    func push(_ commands: [[UInt8]], to redis: PrivateRedis) throws -> Int {
        var firstMs: Int?
        for start in stride(from: 0, to: commands.count, by: 500) {
            let replies = try redis.client.pipeline(encoded: commands[start..<min(start + 500, commands.count)])
            if firstMs == nil, case .text(let id) = replies.first { firstMs = StreamID.milliseconds(id) }
        }
        guard let firstMs else { throw BenchError.failed("Redis took no entry") }
        return firstMs
    }
}
