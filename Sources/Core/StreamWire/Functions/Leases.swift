/// A worker's lease: it lives as long as its counter grows.
extension FunctionLibrary {
    /// Announces a worker. Answers a ``RegisterReply``.
    public static func register(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("register", keys, ["worker": worker])
    }

    /// Keeps a worker's lease. Answers a ``RenewReply``.
    ///
    /// - Parameter about: what the worker reports of itself, for people; nil leaves the last report.
    public static func renew(_ keys: ProjectKeys, worker: String, about: String? = nil) -> RedisCommand {
        guard let about else { return call("renew", keys, rest: [worker]) }
        return call("renew", keys, ["worker": worker, "about": about])
    }

    /// Frees the batches of a worker that let its lease run out. Answers their number; -1 when its counter has moved.
    ///
    /// - Parameter counter: the one that was seen for a whole lease.
    public static func declareDead(_ keys: ProjectKeys, worker: String, counter: String) -> RedisCommand {
        call("declare_dead", keys, ["worker": worker, "counter": counter])
    }

    /// Gives back everything of a worker that ends. Answers the number of batches.
    public static func deregister(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("deregister", keys, ["worker": worker])
    }
}

public struct RegisterReply: Equatable, Sendable {
    /// The last of the news: earlier news does not concern the worker.
    public var newsCursor: String

    public init?(_ value: RedisValue) {
        guard let cursor = FunctionReply(value)?.text("news_cursor") else { return nil }
        newsCursor = cursor
    }
}

public enum RenewReply: Equatable, Sendable {
    /// The worker was declared dead meanwhile.
    case fenced
    /// All workers' counters.
    case ok(counters: [Counter])

    public struct Counter: Equatable, Sendable {
        public var worker: String
        public var counter: String
    }

    public init?(_ value: RedisValue) {
        guard let reply = FunctionReply(value) else { return nil }
        if reply.outcome == "fenced" {
            self = .fenced
            return
        }
        guard let flat = reply["counters"]?.array, flat.count.isMultiple(of: 2) else { return nil }
        let counters = stride(from: 0, to: flat.count, by: 2).compactMap { at in
            flat[at].string.flatMap { worker in flat[at + 1].string.map { Counter(worker: worker, counter: $0) } }
        }
        self = .ok(counters: counters)
    }
}
