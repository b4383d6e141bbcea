/// Calls that keep the project's keys small.
extension FunctionLibrary {
    /// Removes old entries of an outgoing stream that every group has acknowledged. Answers their number.
    public static func trim(_ keys: ProjectKeys, stream: String, keepMs: Int64) -> RedisCommand {
        call("trim", keys, ["stream": stream, "keep_ms": String(keepMs)])
    }

    /// Removes consumers of the job stream that have nothing pending and were silent for so long. Answers their number.
    public static func removeIdleConsumers(_ keys: ProjectKeys, idleMs: Int64) -> RedisCommand {
        call("remove_idle_consumers", keys, ["idle_ms": String(idleMs)])
    }

    /// Checks about `most` open jobs, and ends jobs whose recipients all have a result. Answers a ``RepairReply``.
    ///
    /// - Parameter cursor: "0" at first, then the cursor of the previous reply.
    public static func repair(_ keys: ProjectKeys, cursor: String, most: Int) -> RedisCommand {
        call("repair", keys, ["cursor": cursor, "most": String(most)])
    }

    /// Stores a worker's report `about` itself, and writes why the project's open jobs wait into their hashes, or removes
    /// it. Answers the number of jobs that show a reason.
    ///
    /// - Parameter pressure: why workers take no jobs; empty for no reason.
    public static func writeReasons(
        _ keys: ProjectKeys,
        worker: String,
        about: String,
        pressure: String
    ) -> RedisCommand {
        call("write_reasons", keys, ["worker": worker, "about": about, "pressure": pressure])
    }
}

public struct RepairReply: Equatable, Sendable {
    /// The cursor for the next call; "0" when all open jobs were checked.
    public var cursor: String
    /// By id: the recipients that had their result and were in no counter; they are counted as `unknown`.
    public var jobs: [String: Int]

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value), let cursor = reply.text("cursor"),
            let jobs = reply["jobs"].flatMap(NamedValues.init)
        else { return nil }
        self.cursor = cursor
        self.jobs = jobs.byName.mapValues { Int($0.integer ?? 0) }
    }
}
