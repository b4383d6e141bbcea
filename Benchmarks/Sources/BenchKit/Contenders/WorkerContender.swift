internal import Foundation

/// The worker, whole: stream entry, claims, sends, verdicts, recorded results.
struct WorkerContender: Contender {
    let name = "worker"
    let summary = "fanfare worker, from stream entry to recorded result"
    let executable: String
    let options: Options
    let sink: Sink
    let certificates: Certificates
    let workspace: Workspace

    func run(sends: Int) throws -> RunSample {
        let redis = try PrivateRedis(in: workspace)
        defer { redis.stop() }
        // Made before the clock starts: the producer's work is not the worker's.
        let tokens = Payload.tokenArray(sends)
        let worker = try WorkerProcess(
            executable: executable,
            redis: redis,
            sink: sink,
            certificates: certificates,
            in: workspace
        )
        defer { worker.stop() }

        let warmUp = JobWatch(redis: redis, id: "warm-up")
        try warmUp.push(tokens: Payload.tokenArray(max(1, options.warmUp)))
        _ = try warmUp.finish(seconds: options.limitSeconds, whileRunning: worker.throwIfEnded)

        let before = try (worker: worker.cpuNs(), redis: redis.cpuNs(), sink: sink.cpuNs())
        let started = Patience.now()
        let job = JobWatch(redis: redis, id: "measured")
        try job.push(tokens: tokens)
        let sent = try job.finish(seconds: options.limitSeconds, whileRunning: worker.throwIfEnded)
        let wall = Patience.now() - started
        let after = try (worker: worker.cpuNs(), redis: redis.cpuNs(), sink: sink.cpuNs())

        guard sent == sends else { throw BenchError.failed("the worker says \(sent) sent of \(sends)") }
        let results = try recordedResults(redis)
        guard results == sends + max(1, options.warmUp) else {
            throw BenchError.failed("\(results) results are recorded for \(sends) sends")
        }
        let ended = try worker.drain()
        return RunSample(
            sends: sends,
            wallSeconds: wall,
            cpuSeconds: Double(after.worker - before.worker) / 1e9,
            startUpCPUSeconds: Double(before.worker) / 1e9,
            sinkCPUSeconds: Double(after.sink - before.sink) / 1e9,
            redisCPUSeconds: Double(after.redis - before.redis) / 1e9,
            peakMemoryMegabytes: Double(ended.peakKilobytes) / 1_024
        )
    }

    /// Results in the stream, counted one by one: a fast worker that forgets is not fast.
    private func recordedResults(_ redis: PrivateRedis) throws -> Int {
        var count = 0
        var from = "-"
        while true {
            let reply = try redis.client.send(
                "XRANGE",
                "fanfare:{\(Sink.project)}:results",
                from,
                "+",
                "COUNT",
                "100"
            )
            guard case .array(let entries) = reply, !entries.isEmpty else { return count }
            for case .array(let entry) in entries {
                guard entry.count == 2, case .text(let id) = entry[0], case .array(let fields) = entry[1] else {
                    continue
                }
                from = "(\(id)"
                for case .text(let field) in fields where field.hasPrefix("[") {
                    count += field.components(separatedBy: "\"status\":\"sent\"").count - 1
                }
            }
        }
    }
}
