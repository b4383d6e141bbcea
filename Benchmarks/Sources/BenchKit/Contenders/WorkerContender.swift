/// The worker, whole: stream entry, claims, sends, verdicts, recorded results. One fan-out of tokens.
struct WorkerContender: Contender {
    var name = "worker"
    var summary = "fanfare worker, from stream entry to recorded result"
    let bench: Bench
    let sink: Sink
    var settings = WorkerSettings()
    var workers = 1
    /// Sends before the clock starts.
    var warmUp: Int
    /// The job's message: a v1 message, or with the legacy transport a legacy body.
    var message = Payload.message
    var format: String?
    /// Whether each recipient has values of its own; ``message`` has their placeholders then.
    var isPersonal = false

    init(_ bench: Bench, sink: Sink) {
        self.bench = bench
        self.sink = sink
        warmUp = bench.options.warmUp
    }

    func run(sends: Int) throws -> RunSample {
        let limit = bench.options.limitSeconds
        // Made before the clock starts: the producer's work is not the worker's.
        let content = job(sends)
        let fleet = try bench.fleet(sink.target, workers: workers, settings: settings)
        defer { fleet.stop() }
        try fleet.run("warm-up", job(max(1, warmUp)), limitSeconds: limit)
        let (counts, reading) = try fleet.meter(sink: sink) {
            try fleet.run("measured", content, limitSeconds: limit)
        }
        guard counts.sent == sends else { throw BenchError.failed("the worker says \(counts.sent) sent of \(sends)") }
        let results = try fleet.results.count(.sent)
        guard results == sends + max(1, warmUp) else {
            throw BenchError.failed("\(results) results are recorded for \(sends + max(1, warmUp)) sends")
        }
        try fleet.drain()
        return reading.sample(sends: sends)
    }

    /// The worker of `--before` with the same job and settings; nil without that option.
    var before: WorkerContender? {
        bench.before.map { bench in
            var contender = WorkerContender(bench, sink: sink)
            contender.name = Bench.beforeName
            contender.summary = "the worker of --before"
            (contender.settings, contender.workers, contender.warmUp) = (settings, workers, warmUp)
            (contender.message, contender.format) = (message, format)
            return contender
        }
    }

    private func job(_ count: Int) -> JobContent {
        let target: JobContent.Target =
            isPersonal ? .recipients(Payload.recipientArray(count)) : .tokens(Payload.tokenArray(count))
        return JobContent(target: target, message: message, format: format)
    }
}
