/// The worker with audiences of one size, one after the other until there are enough sends to measure.
struct SizeContender: Contender {
    let name: String
    let summary: String
    private let size: Int
    private let jobs: Int
    private let bench: Bench
    private let sink: Sink

    init(_ bench: Bench, sink: Sink, size: Int, sendsAtLeast: Int) {
        self.bench = bench
        self.sink = sink
        self.size = size
        jobs = max(1, sendsAtLeast / size)
        name = SizeScenario.side(size)
        summary = "\(jobs) fan-out\(jobs == 1 ? "" : "s"), audience in a Redis list, results of failures only"
    }

    /// - Parameter sends: not used: the size is the question.
    func run(sends: Int) throws -> RunSample {
        // A run of ten million takes a quarter of an hour.
        let limit = max(bench.options.limitSeconds, Double(size) / 2_000)
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        let key = "audience:{\(Sink.project)}"
        try Self.fill(key, count: size, in: fleet.redis)
        try fleet.warmUp(bench.options.warmUp, limitSeconds: limit)
        let (sent, reading) = try fleet.meter(sink: sink) {
            try (1...jobs).reduce(0) { sent, index in
                let content = JobContent(target: .audience(key), results: "failures")
                return sent + (try fleet.run("measured-\(index)", content, limitSeconds: limit)).sent
            }
        }
        guard sent == jobs * size else { throw BenchError.failed("\(sent) sent of \(jobs * size)") }
        try fleet.drain()
        return reading.sample(sends: sent)
    }

    private static func fill(_ key: String, count: Int, in redis: PrivateRedis) throws {
        for start in stride(from: 0, to: count, by: 5_000) {
            let tokens = (start..<min(start + 5_000, count)).map(Payload.token)
            try redis.client.send(["RPUSH", key] + tokens)
        }
    }
}
