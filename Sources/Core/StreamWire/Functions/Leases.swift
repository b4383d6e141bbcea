/// A worker's lease: it lives as long as its counter grows.
extension FunctionLibrary {
    /// Announces a worker. Answers a ``RegisterReply``.
    public static func register(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("register", keys, ["worker": worker])
    }

    /// One renewal of a worker's lease.
    public struct Renewal: Sendable {
        public var keys: ProjectKeys
        /// The worker's name in the project.
        public var worker: String
        /// The worker's report of itself; nil when none is due.
        public var about: String?
        /// Whether the lease may rest; see ``FunctionLibrary/isResting(_:)``.
        public var rests: Bool

        public init(_ keys: ProjectKeys, worker: String, about: String? = nil, rests: Bool = false) {
            (self.keys, self.worker, self.about, self.rests) = (keys, worker, about, rests)
        }
    }

    /// Keeps a worker's lease. Answers a ``RenewReply``.
    public static func renew(_ renewal: Renewal) -> RedisCommand {
        let (keys, about, rests) = (renewal.keys, renewal.about ?? "", renewal.rests ? "1" : "")
        return call("renew", keys, ["worker": renewal.worker, "about": about, "rests": rests])
    }

    /// Keeps a worker's leases in several projects of one server. Answers a ``RenewReply`` for each.
    public static func renew(_ renewals: [Renewal]) -> RedisCommand {
        let bytes = renewals.reduce(0) {
            $0 + $1.keys.base.utf8.count + $1.worker.utf8.count + ($1.about?.utf8.count ?? 0)
        }
        var command = RedisCommand("FCALL", bytes: bytes + 64, words: 4 * renewals.count + 3)
        command.append("\(name)_renewals")
        command.append(String(renewals.count))
        for renewal in renewals { command.append(renewal.keys.base) }
        for renewal in renewals {
            command.append(renewal.worker)
            command.append(renewal.about ?? "")
            command.append(renewal.rests ? "1" : "")
        }
        return command
    }

    /// Frees the batches of a worker whose `counter` stood still. Answers their number; -1 when it has moved.
    public static func declareDead(_ keys: ProjectKeys, worker: String, counter: String) -> RedisCommand {
        call("declare_dead", keys, ["worker": worker, "counter": counter])
    }

    /// With so many batches, `declareDead` may have left some, which another call frees.
    public static let mostFreed: Int64 = 1_000

    /// Whether the worker with this counter knows compact jobs: counters of older workers begin at 0.
    public static func knowsCompactJobs(_ counter: String) -> Bool { (Int64(counter) ?? 0) >= firstCounter }

    /// Whether the lease with this counter rests: its worker holds nothing, and renews it seldom.
    public static func isResting(_ counter: String) -> Bool { (Int64(counter) ?? 0) >= firstResting }

    /// Where a worker's counter begins, and that of a lease that rests.
    static let firstCounter: Int64 = 3_000_000_000_000
    static let firstResting: Int64 = 4_000_000_000_000

    /// Gives back everything of a worker that ends. Answers the number of batches.
    public static func deregister(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("deregister", keys, ["worker": worker])
    }
}

public struct RegisterReply: Equatable, Sendable {
    /// The last of the news: earlier news does not concern the worker.
    public var newsCursor: String
    /// Whether every worker of the project knows compact jobs.
    public var allKnowCompactJobs: Bool

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value), let cursor = reply.text("news_cursor") else { return nil }
        newsCursor = cursor
        let counters = reply["counters"].flatMap(NamedValues.init)?.byName.values
        allKnowCompactJobs = counters?.allSatisfy { FunctionLibrary.knowsCompactJobs($0.string ?? "") } ?? false
    }
}

public enum RenewReply: Equatable, Sendable {
    /// The worker was declared dead meanwhile.
    case fenced
    /// The counter of each worker.
    case ok(counters: [String: String])

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        if reply.outcome == "fenced" {
            self = .fenced
            return
        }
        guard let counters = reply["counters"].flatMap(NamedValues.init) else { return nil }
        self = .ok(counters: counters.byName.compactMapValues(\.string))
    }
}
