/// The worker, where FCM refuses some recipients for good and others once or twice.
struct MixedContender: Contender {
    let name = "mixed"
    let summary = "the worker where 3 % fail for good and 2 % of all answers ask for another try"
    static let failedShare = Measure.figure("failed_percent", "failed %", decimals: 2)

    private static let warmUpSends = 1_000

    private let bench: Bench
    private let sink: Sink

    init(_ bench: Bench, sink: Sink) {
        self.bench = bench
        self.sink = sink
    }

    func run(sends: Int) throws -> RunSample {
        let limit = bench.options.limitSeconds
        let content = JobContent.tokens(Payload.tokenArray(sends))
        var settings = WorkerSettings()
        settings.project = Sink.failingProject
        let fleet = try bench.fleet(sink.failingTarget, settings: settings)
        defer { fleet.stop() }
        // Small, because its retries fall into what is measured: waiting for them would take longer than the rest.
        let warmUp = fleet.job("warm-up")
        try warmUp.push(.tokens(Payload.tokenArray(Self.warmUpSends)))
        try warmUp.finishFirstPass(seconds: limit, whileRunning: fleet.throwIfEnded)

        let job = fleet.job("measured")
        let (counts, reading) = try fleet.meter(sink: sink) {
            try job.push(content)
            return try job.finish(seconds: limit, mayFail: true, whileRunning: fleet.throwIfEnded)
        }
        guard counts.total == sends, FailingAnswers.isPlausible(failed: counts.failed, of: sends) else {
            throw BenchError.failed("\(counts.failed) of \(sends) failed, where about 3 % should")
        }
        let recorded = try fleet.results.count(.sent) + fleet.results.count(.failed)
        // A retry of the warm-up may still be waiting.
        guard (sends...(sends + Self.warmUpSends)).contains(recorded) else {
            throw BenchError.failed("\(recorded) results are recorded for \(sends) recipients")
        }
        try fleet.drain()
        return reading.sample(
            sends: sends,
            figures: [Self.failedShare.name: 100 * Double(counts.failed) / Double(sends)]
        )
    }
}
