/// Plain commands that read a job's place among the others. A private key that they read may be missing.
public enum JobInquiry {
    public static var time: RedisCommand { RedisCommand("TIME") }

    /// The stream entry that had the id first in the dedupe window; null when there is none.
    public static func seen(_ keys: ProjectKeys, job: String) -> RedisCommand {
        RedisCommand("GET", keys.base + "seen:" + job)
    }

    /// Writes the hash of a push to one recipient that is in flight, and has none yet. Answers 1; 0 for any other job.
    public static func expand(_ keys: ProjectKeys, job: String) -> RedisCommand {
        FunctionLibrary.call("expand", keys, ["id": job])
    }

    /// How many of these jobs have a hash.
    public static func count(_ keys: ProjectKeys, jobs: [String]) -> RedisCommand {
        var command = RedisCommand("EXISTS")
        for job in jobs { command.append(keys.job(job)) }
        return command
    }

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

    /// Sorted sets of the recipients that wait for a retry, by due time.
    public static func retryQueues(_ keys: ProjectKeys) -> [String] {
        [keys.base + "retry", keys.base + "retry_many"]
    }

    /// By how many milliseconds the project's clock is ahead of Redis TIME; null before it was ever set.
    public static func clockOffset(_ keys: ProjectKeys) -> RedisCommand {
        RedisCommand("HGET", keys.base + "ctl", "lead")
    }

    /// When a job's first retry is due on the project's clock, in members and their scores in turn; nil if none is among
    /// them.
    public static func firstDueMs(of job: String, in pairs: [String]) -> Int64? {
        let prefix = job + "/"
        guard let index = stride(from: 0, to: pairs.count - 1, by: 2).first(where: { pairs[$0].hasPrefix(prefix) }),
            let due = Double(pairs[index + 1]), (0..<1e14).contains(due)
        else { return nil }
        return Int64(due)
    }

    /// One step through the open jobs or, with `parked`, the parked ones.
    public static func open(_ keys: ProjectKeys, parked: Bool, cursor: String) -> RedisCommand {
        RedisCommand("SSCAN", keys.base + (parked ? "jobs_parked" : "jobs_open"), cursor, "COUNT", "500")
    }

    /// What is known of a job only while it is not over.
    public static func spec(_ keys: ProjectKeys, job: String) -> RedisCommand {
        RedisCommand(
            "HMGET",
            keys.base + "spec:" + job,
            "message",
            "kind",
            "op",
            "priority",
            "delivery",
            "results",
            "validate_only",
            "expires_at"
        )
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
