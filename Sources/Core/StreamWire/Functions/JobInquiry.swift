/// Plain commands that read a job's place among the others. A private key that they read may be missing.
public enum JobInquiry {
    public static var time: RedisCommand { RedisCommand("TIME") }

    /// The job's class and its name in the queue, answered as ``JobPlan``.
    public static func plan(_ keys: ProjectKeys, job: String) -> RedisCommand {
        RedisCommand("HMGET", keys.base + "spec:" + job, "class", "member", "hold_ms")
    }

    /// How many fan-outs stand before it; null when it does not wait.
    public static func rank(_ keys: ProjectKeys, member: String) -> RedisCommand {
        RedisCommand("ZRANK", keys.base + "queue", member)
    }

    /// `<epoch>|<until, Unix ms, or nothing>` of a job that holds the slot; null otherwise.
    public static func slot(_ keys: ProjectKeys, job: String) -> RedisCommand {
        RedisCommand("HGET", keys.base + "active", job)
    }

    public static func active(_ keys: ProjectKeys) -> RedisCommand { RedisCommand("HKEYS", keys.base + "active") }

    public static func queue(_ keys: ProjectKeys, most: Int) -> RedisCommand {
        RedisCommand("ZRANGE", keys.base + "queue", "0", String(most - 1))
    }

    /// One step through the open jobs or, with `parked`, the parked ones.
    public static func open(_ keys: ProjectKeys, parked: Bool, cursor: String) -> RedisCommand {
        RedisCommand("SSCAN", keys.base + (parked ? "jobs_parked" : "jobs_open"), cursor, "COUNT", "500")
    }

    /// One step through all keys of Redis, for the project's jobs, also those that are over.
    public static func kept(_ keys: ProjectKeys, cursor: String) -> RedisCommand {
        // The prefix may hold signs of patterns; braces are none.
        let literal = keys.job("").map { "*?[]\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        return RedisCommand("SCAN", cursor, "MATCH", literal + "*", "COUNT", "1000", "TYPE", "hash")
    }

    /// The id in a member of the queue.
    public static func job(ofMember member: String) -> String? {
        member.firstIndex(of: "/").map { String(member[member.index(after: $0)...]) }
    }

    /// Milliseconds since 1970 of a `TIME` reply.
    public static func milliseconds(_ value: RedisValue) -> Int64? {
        guard let parts = value.array, parts.count == 2, let seconds = parts[0].integer,
            let microseconds = parts[1].integer, (0...999_999_999_999).contains(seconds),
            (0...999_999).contains(microseconds)
        else { return nil }
        return seconds * 1_000 + microseconds / 1_000
    }
}

/// How a job is run: written once, by intake.
public struct JobPlan: Equatable, Sendable {
    public enum Class: String, Equatable, Sendable {
        /// One batch: never waits for the slot.
        case single
        /// A device group: never waits for the slot either.
        case group
        /// No message: subscriptions and operations on groups.
        case managed
        /// More than one batch.
        case fanout
        /// A topic or a condition: FCM itself fans it out.
        case broadcast = "aimed"

        /// The name of a broadcast in version 0.1.
        public static var aimed: Class { .broadcast }

        public var takesTurns: Bool { self == .fanout || self == .broadcast }
    }

    public var jobClass: Class
    /// Its name in the queue.
    public var member: String
    /// How long it keeps the slot, because FCM is estimated to be busy with it; 0 when nothing is known.
    public var slotMs: Int64

    /// nil when the job is over or was never taken.
    public init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 3,
            let jobClass = parts[0].string.flatMap(Class.init(rawValue:)), let member = parts[1].string
        else { return nil }
        self.jobClass = jobClass
        self.member = member
        slotMs = parts[2].integer ?? 0
    }
}
