/// Worker processes that share a Redis and a project, and what they use.
final class Fleet {
    let redis: PrivateRedis
    let project: String
    private let workers: [WorkerProcess]

    init(
        executable: String,
        target: Target,
        workers count: Int,
        settings: WorkerSettings,
        persistence: PrivateRedis.Persistence,
        in workspace: Workspace
    ) throws {
        let redis = try PrivateRedis(persistence, in: workspace)
        var workers: [WorkerProcess] = []
        do {
            for index in 1...count {
                let worker = try WorkerProcess(
                    count == 1 ? "worker" : "worker-\(index)",
                    executable: executable,
                    redis: redis,
                    target: target,
                    settings: settings,
                    in: workspace
                )
                workers.append(worker)
            }
        } catch {
            for worker in workers { worker.stop() }
            redis.stop()
            throw error
        }
        self.redis = redis
        self.workers = workers
        project = settings.project
    }

    func job(_ id: String) -> JobWatch { JobWatch(redis: redis, project: project, id: id) }

    var results: ResultStream { ResultStream(redis: redis, project: project) }

    func cpuNs() throws -> Int { try workers.reduce(0) { try $0 + $1.cpuNs() } }
    func peakMemoryMegabytes() throws -> Double { try workers.map { try $0.peakMemoryMegabytes() }.max() ?? 0 }
    func throwIfEnded() throws { for worker in workers { try worker.throwIfEnded() } }

    /// Pushes a job and waits for its end.
    @discardableResult
    func run(_ id: String, _ content: JobContent, limitSeconds: Double) throws -> JobCounts {
        let job = job(id)
        try job.push(content)
        return try job.finish(seconds: limitSeconds, whileRunning: throwIfEnded)
    }

    /// Sends that open connections and raise limits, before any clock starts.
    func warmUp(_ sends: Int, limitSeconds: Double) throws {
        try run("warm-up", .tokens(Payload.tokenArray(max(1, sends))), limitSeconds: limitSeconds)
    }

    /// What a piece of work took: its wall time, and the CPU of workers, Redis and sink.
    func meter<Outcome>(sink: Sink?, _ work: () throws -> Outcome) throws -> (Outcome, Reading) {
        let before = try (workers: cpuNs(), redis: redis.cpuNs(), sink: sink?.cpuNs())
        let started = Patience.now()
        let outcome = try work()
        let wall = Patience.now() - started
        let after = try (workers: cpuNs(), redis: redis.cpuNs(), sink: sink?.cpuNs())
        let reading = Reading(
            wallSeconds: wall,
            cpuSeconds: Double(after.workers - before.workers) / 1e9,
            startUpCPUSeconds: Double(before.workers) / 1e9,
            redisCPUSeconds: Double(after.redis - before.redis) / 1e9,
            sinkCPUSeconds: after.sink.map { Double($0 - (before.sink ?? 0)) / 1e9 },
            peakMemoryMegabytes: try peakMemoryMegabytes()
        )
        return (outcome, reading)
    }

    /// Time passes while the workers work; one that ends is an error.
    func pause(seconds: Double) throws {
        let end = Patience.now() + seconds
        try Patience.wait(for: "the time to pass", seconds: seconds + 30, every: 0.02) { () -> Void? in
            try throwIfEnded()
            return Patience.now() >= end ? () : nil
        }
    }

    /// Every worker drains and exits with 0, or it is an error.
    func drain() throws { for worker in workers { try worker.drain() } }

    /// Ends everything at once. Safe to call again.
    func stop() {
        for worker in workers { worker.stop() }
        redis.stop()
    }
}

struct Reading {
    var wallSeconds: Double
    var cpuSeconds: Double
    let startUpCPUSeconds: Double
    var redisCPUSeconds: Double
    var sinkCPUSeconds: Double?
    let peakMemoryMegabytes: Double

    /// Without what so many seconds cost in which the fleet only waited, as measured by `waiting`.
    func less(_ waiting: Reading, seconds: Double) -> Reading {
        let share = seconds / waiting.wallSeconds
        var reading = self
        reading.cpuSeconds -= share * waiting.cpuSeconds
        reading.redisCPUSeconds -= share * waiting.redisCPUSeconds
        reading.sinkCPUSeconds = sinkCPUSeconds.map { $0 - share * (waiting.sinkCPUSeconds ?? 0) }
        return reading
    }

    func sample(sends: Int, figures: [String: Double] = [:]) -> RunSample {
        RunSample(
            sends: sends,
            wallSeconds: wallSeconds,
            cpuSeconds: cpuSeconds,
            startUpCPUSeconds: startUpCPUSeconds,
            sinkCPUSeconds: sinkCPUSeconds,
            redisCPUSeconds: redisCPUSeconds,
            peakMemoryMegabytes: peakMemoryMegabytes,
            figures: figures
        )
    }
}
