internal import Foundation

/// One job through a worker whose calls are counted: after a warm-up, from the job's push until all is recorded.
struct CountedRun {
    let executable: String
    let library: String
    var warmUp = 5_000
    var sends = 20_000
    /// Legacy requests of 1,000 recipients in the place of v1's.
    var multicast = false
    var engine = HTTPEngine.curl
    /// Generous: counts do not suffer from a machine that others use.
    var limitSeconds = 300.0

    /// The counts of the measured job alone.
    func counts(sink: Sink, in workspace: Workspace) throws -> CallCounts {
        let redis = try PrivateRedis(in: workspace)
        defer { redis.stop() }
        let worker = try WorkerProcess(
            executable: executable,
            redis: redis,
            target: sink.target,
            settings: WorkerSettings(transport: multicast ? "legacy" : "v1", engine: engine),
            environment: CallCounts.environment(library: library, file: workspace.file("counts")),
            in: workspace
        )
        defer { worker.stop() }
        try run("warm-up", sends: warmUp, redis: redis, worker: worker)
        let before = try read(workspace)
        try run("counted", sends: sends, redis: redis, worker: worker)
        let counted = try read(workspace).since(before)
        _ = try worker.drain()
        return counted
    }

    private func run(_ id: String, sends: Int, redis: PrivateRedis, worker: WorkerProcess) throws {
        let job = JobWatch(redis: redis, project: Sink.project, id: id)
        try job.push(
            JobContent(
                target: .tokens(Payload.tokenArray(sends)),
                message: multicast ? "{\(Payload.legacyFields)}" : Payload.message,
                format: multicast ? "legacy" : nil
            )
        )
        let sent = try job.finish(seconds: limitSeconds, whileRunning: worker.throwIfEnded).sent
        guard sent == sends else { throw BenchError.failed("job \(id): \(sent) sent of \(sends)") }
    }

    private func read(_ workspace: Workspace) throws -> CallCounts {
        try CallCounts(records: FileManager.default.contents(atPath: workspace.file("counts")) ?? Data())
    }
}
