/// The commands on `jobs` themselves.
public enum JobStream {
    public static func createGroup(_ keys: ProjectKeys) -> RedisCommand {
        // From 0, so that the group delivers jobs that were pushed before the first worker started.
        RedisCommand("XGROUP", "CREATE", keys.jobs, ProjectKeys.group, "0", "MKSTREAM")
    }

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
