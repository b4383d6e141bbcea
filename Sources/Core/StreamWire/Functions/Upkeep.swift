/// What a worker calls now and then to keep the project's keys small.
extension FunctionLibrary {
    /// Removes old entries from an outgoing stream, but none that a group has not acknowledged. Answers their number.
    ///
    /// - Parameter stream: its name behind the project's base.
    public static func trim(_ keys: ProjectKeys, stream: String, keepMs: Int64) -> RedisCommand {
        call("trim", keys, ["stream": stream, "keep_ms": String(keepMs)])
    }

    /// Removes consumers of the job stream that have nothing pending and were silent for so long. Answers their number.
    public static func removeIdleConsumers(_ keys: ProjectKeys, idleMs: Int64) -> RedisCommand {
        call("remove_idle_consumers", keys, ["idle_ms": String(idleMs)])
    }

    /// Ends jobs whose recipients all have a result while the job counts some as open. Answers a ``RepairReply``.
    ///
    /// - Parameters:
    ///   - cursor: "0" to begin, else the cursor of the previous reply.
    ///   - most: how many open jobs to check, about.
    public static func repair(_ keys: ProjectKeys, cursor: String, most: Int) -> RedisCommand {
        call("repair", keys, ["cursor": cursor, "most": String(most)])
    }
}

/// Jobs that `repair` has ended.
public struct RepairReply: Equatable, Sendable {
    /// The cursor for the next call; "0" when all open jobs were checked.
    public var cursor: String
    public var jobs: [Repaired]

    public struct Repaired: Equatable, Sendable {
        public var id: String
        /// Recipients that had their result and were in no counter; they are counted as `unknown`.
        public var uncounted: Int

        public init(id: String, uncounted: Int) {
            self.id = id
            self.uncounted = uncounted
        }
    }

    public init?(_ value: RedisValue) {
        guard let reply = FunctionReply(value), let cursor = reply.text("cursor"), let flat = reply["jobs"]?.array,
            flat.count.isMultiple(of: 2)
        else { return nil }
        self.cursor = cursor
        jobs = stride(from: 0, to: flat.count, by: 2).map {
            Repaired(id: flat[$0].string ?? "", uncounted: Int(flat[$0 + 1].integer ?? 0))
        }
    }
}
