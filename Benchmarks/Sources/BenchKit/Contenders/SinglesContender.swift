/// The worker, with a job for every token.
struct SinglesContender: Contender {
    /// What the jobs have in common.
    enum Course: String {
        /// Nothing but message and token; each is sent at the first attempt.
        case plain = "singles"
        /// An `id` each, by which Redis refuses a repetition.
        case withID = "with-id"
        /// 3 % fail for good, and 2 % of the answers ask for another attempt.
        case mix

        var summary: String {
            switch self {
            case .plain: "pushed as fast as Redis takes them"
            case .withID: "each with an id"
            case .mix: "3 % fail for good and 2 % of all answers ask for another attempt"
            }
        }
    }

    /// Bytes that stay in Redis for each finished job until its hash expires.
    ///
    /// Counted are its hash with its expiry and its share of every other key, the tables of all keys included. Not counted
    /// are its result, which a consumer reads and trims, and buffers.
    static let keptBytes = Measure.figure("kept_bytes", "kept bytes", decimals: 0)

    var name: String
    let summary: String
    private let course: Course
    private let bench: Bench
    private let sink: Sink

    init(_ bench: Bench, sink: Sink, course: Course = .plain) {
        name = course.rawValue
        summary = "fanfare worker, one job for each token, \(course.summary)"
        (self.bench, self.sink, self.course) = (bench, sink, course)
    }

    func run(sends: Int) throws -> RunSample {
        var settings = WorkerSettings()
        settings.project = course == .mix ? Sink.failingProject : Sink.project
        let pusher = SinglesPusher(project: settings.project, hasIDs: course == .withID)
        let commands = pusher.commands(sends)
        let fleet = try bench.fleet(course == .mix ? sink.failingTarget : sink.target, settings: settings)
        defer { fleet.stop() }
        try warmUp(fleet)
        try fleet.results.trim()
        let mark = try fleet.results.mark()
        let bytes = try fleet.redis.keyBytes()
        let callsBefore = try fleet.redis.info("commandstats").calls
        var ((firstMs, waited), reading) = try fleet.meter(sink: sink) {
            let firstMs = try pusher.push(commands[...], to: fleet.redis)
            return (firstMs, try wait(fleet, since: mark, count: sends))
        }
        let calls = try fleet.redis.info("commandstats").calls
        if course == .mix {
            let (_, waiting) = try fleet.meter(sink: sink) { try fleet.pause(seconds: 3) }
            reading = reading.less(waiting, seconds: waited)
        }
        let lastMs = try end(fleet, since: mark, count: sends)
        try fleet.results.trim()
        let kept = try fleet.redis.keyBytes() - bytes
        try fleet.drain()
        var figures = CommandCalls.figures(calls, since: callsBefore, sends: sends)
        if course == .plain { figures[Self.keptBytes.name] = Double(kept) / Double(sends) }
        var sample = reading.sample(sends: sends, figures: figures)
        // By Redis's clock, from the first entry to the last result: the harness looks in between, and not all the time.
        sample.wallSeconds = max(0.001, Double(lastMs - firstMs) / 1_000)
        return sample
    }

    /// Retries of a mix fall into what is measured, so its warm-up asks for no results: each would count as a job's.
    private func warmUp(_ fleet: Fleet) throws {
        let limit = bench.options.limitSeconds
        guard course == .mix else { return try fleet.warmUp(bench.options.warmUp, limitSeconds: limit) }
        let job = fleet.job("warm-up")
        try job.push(JobContent(target: .tokens(Payload.tokenArray(bench.options.warmUp)), results: "none"))
        try job.finishFirstPass(seconds: limit, whileRunning: fleet.throwIfEnded)
    }

    /// Waits until the jobs have their results.
    ///
    /// A mix ends when one job in a thousand is left: those were refused twice, and may wait for minutes.
    /// - Returns: seconds after the first attempts, in which a mix mostly waits for its retries.
    private func wait(_ fleet: Fleet, since mark: ResultStream.Mark, count: Int) throws -> Double {
        func wait(for count: Int, every pause: Double) throws -> Double {
            try fleet.results.wait(
                for: count,
                since: mark,
                seconds: bench.options.limitSeconds,
                every: pause,
                whileRunning: fleet.throwIfEnded
            )
            return Patience.now()
        }
        let first = try wait(for: count - count / 20, every: 0.02)
        return try wait(for: finished(of: count), every: course == .mix ? 0.5 : 0.02) - first
    }

    /// Jobs that have a result when the measuring ends.
    private func finished(of count: Int) -> Int { course == .mix ? count - count / 1_000 : count }

    /// Reads the results, one entry for each job; one that should not have failed is an error.
    /// - Returns: when the last one was written.
    private func end(_ fleet: Fleet, since mark: ResultStream.Mark, count: Int) throws -> Int {
        var (sent, failed, lastMs) = (0, 0, 0)
        try fleet.results.read(since: mark) { entry in
            sent += ResultStream.occurrences(of: "\"status\":\"sent\"", in: entry.results)
            failed += ResultStream.occurrences(of: "\"status\":\"failed\"", in: entry.results)
            lastMs = entry.writtenMs
        }
        let isPlausible = course == .mix ? FailingAnswers.isPlausible(failed: failed, of: count) : failed == 0
        guard (finished(of: count)...count).contains(sent + failed), isPlausible else {
            throw BenchError.failed("\(sent) of \(count) jobs were sent, \(failed) failed")
        }
        return lastMs
    }
}

/// Pushes jobs of one token each.
struct SinglesPusher {
    let project: String
    var hasIDs = false

    /// `XADD` commands as Redis reads them. Made ahead: the producer's work is not the worker's.
    func commands(_ count: Int) -> [[UInt8]] { (0..<count).map { RESPClient.bytes(command($0)) } }

    private func command(_ index: Int) -> [String] {
        ["XADD", "fanfare:{\(project)}:jobs", "*"] + (hasIDs ? ["id", "single-\(index)"] : [])
            + ["message", Payload.message, "token", Payload.token(index)]
    }

    /// Pushes in pipelines of 500.
    /// - Returns: when the first entry was written, in Redis's milliseconds.
    @discardableResult
    func push(_ commands: ArraySlice<[UInt8]>, to redis: PrivateRedis) throws -> Int {
        var firstMs: Int?
        for start in stride(from: 0, to: commands.count, by: 500) {
            let replies = try redis.client.pipeline(encoded: commands.dropFirst(start).prefix(500))
            if firstMs == nil, case .text(let id) = replies.first { firstMs = StreamID.milliseconds(id) }
        }
        guard let firstMs else { throw BenchError.failed("Redis took no entry") }
        return firstMs
    }
}
