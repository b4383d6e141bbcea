/// The commands on `jobs` themselves.
public enum JobStream {
    public static func createGroup(_ keys: ProjectKeys) -> RedisCommand {
        // From 0, so that the group delivers jobs that were pushed before the first worker started.
        RedisCommand("XGROUP", "CREATE", keys.jobs, ProjectKeys.group, "0", "MKSTREAM")
    }

    /// Counts the keys that exist while one of the projects has an open job, is paused by an operator, or has a step that
    /// failed and is made again.
    public static func countSigns(_ projects: [ProjectKeys]) -> RedisCommand {
        var command = RedisCommand("EXISTS")
        for keys in projects {
            command.append(keys.base + "jobs_open")
            command.append(keys.base + "compact")
            command.append(keys.base + "paused")
            command.append(keys.base + "redo")
        }
        return command
    }

    /// Counts the entries that were not handed over yet.
    public static func countEntries(_ keys: ProjectKeys) -> RedisCommand { RedisCommand("XLEN", keys.jobs) }

    /// - Parameter id: `>` for new entries, `0` for entries that are pending for this consumer.
    public static func read(
        _ projects: [ProjectKeys],
        worker: String,
        count: Int,
        blockMs: Int64?,
        id: String = ">"
    ) -> RedisCommand {
        var command = RedisCommand("XREADGROUP", "GROUP", ProjectKeys.group, worker, "COUNT", String(count))
        if let blockMs {
            command.append("BLOCK")
            command.append(blockMs)
        }
        command.append("STREAMS")
        for keys in projects { command.append(keys.jobs) }
        for _ in projects { command.append(id) }
        return command
    }

    /// Moves entries that have been pending for `minIdleMs` to this consumer. The reply has their ids only;
    /// ``read(_:worker:count:blockMs:id:)`` with the id `0` returns them.
    public static func autoclaim(
        _ keys: ProjectKeys,
        worker: String,
        minIdleMs: Int64,
        start: String,
        count: Int
    ) -> RedisCommand {
        var command = RedisCommand("XAUTOCLAIM", keys.jobs, ProjectKeys.group, worker, String(minIdleMs), start)
        for word in ["COUNT", String(count), "JUSTID"] { command.append(word) }
        return command
    }
}
