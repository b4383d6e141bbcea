/// The least that a queue on streams costs Redis: one producer, one consumer, and no guarantee but delivery.
///
/// No better loop is known to us: the consumer reads 64 entries, and one pipeline writes their results, acknowledges the
/// entries and deletes them.
struct StreamLoopRival: Contender {
    let name = "bare-loop"
    let summary = "Redis alone, no sends: XADD, XREADGROUP COUNT 64, XADD of the results, XACK, XDEL"
    let workspace: Workspace
    /// Jobs before the clock starts.
    let warmUp: Int

    private let jobs = "fanfare:{\(Sink.project)}:jobs"
    private let results = "results"
    private let group = "loop"

    func run(sends: Int) throws -> RunSample {
        let redis = try PrivateRedis(.appendOnly, in: workspace)
        defer { redis.stop() }
        let commands = SinglesPusher(project: Sink.project).commands(sends)
        try redis.client.send("XGROUP", "CREATE", jobs, group, "$", "MKSTREAM")
        try finish(commands.prefix(warmUp), redis)
        let sample = try redis.meter(sends: sends) { try finish(commands[...], redis) }
        let left = try [results, jobs].map { try redis.client.send("XLEN", $0) }
        guard left == [.integer(sends + min(warmUp, sends)), .integer(0)] else {
            throw BenchError.failed("\(name): not every job has its result")
        }
        return sample
    }

    private func finish(_ commands: ArraySlice<[UInt8]>, _ redis: PrivateRedis) throws {
        try SinglesPusher(project: Sink.project).push(commands, to: redis)
        var done = 0
        while done < commands.count { done += try pass(redis.client, from: done) }
    }

    /// - Returns: how many jobs were finished.
    private func pass(_ client: RESPClient, from first: Int) throws -> Int {
        let reply = try client.send(
            "XREADGROUP",
            "GROUP",
            group,
            "consumer",
            "COUNT",
            "64",
            "STREAMS",
            jobs,
            ">"
        )
        guard case .array(let streams) = reply, case .array(let stream) = streams.first, stream.count == 2,
            case .array(let entries) = stream[1]
        else { throw BenchError.failed("\(name): an entry is missing") }
        let ids = entries.compactMap { entry in
            if case .array(let pair) = entry, case .text(let id) = pair.first { id } else { nil as String? }
        }
        // As long as a worker's.
        let writes = ids.enumerated().map { offset, id in
            ["XADD", results, "*", "job", id, "results", "[\(RedisRival.result(first + offset))]"]
        }
        try client.pipeline(writes + [["XACK", jobs, group] + ids, ["XDEL", jobs] + ids])
        return ids.count
    }
}
