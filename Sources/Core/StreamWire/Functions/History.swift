public import FanfareModel

/// What a worker did in one project since its last record, and the names under which Redis adds it up.
public struct HistoryRecord: Equatable, Sendable {
    /// Counts by name, without counts of 0.
    public var counts: [String: Int64]

    public init(counts: [String: Int64] = [:]) { self.counts = counts.filter { $0.value > 0 } }

    public var isEmpty: Bool { counts.isEmpty }

    public static let retries = "retries"
    /// Results flagged as possible duplicates.
    public static let maybeDup = "maybe_dup"
    /// Recipients and pushed jobs that wait at the end of the slot; Redis writes it.
    public static let waiting = "waiting"
    /// Messages a minute; Redis writes it.
    public static let quota = "quota"
    public static func status(_ status: ResultStatus) -> String { status.rawValue }
    /// Failed results with an error.
    public static func error(_ code: String) -> String { errorPrefix + code }
    public static let errorPrefix = "error."
    /// Requests in a bucket of ``latencyBoundsMs``; the last one has those above all bounds.
    public static func latency(_ bucket: Int) -> String { "latency.\(bucket)" }
    /// The upper bounds of the buckets of latency, milliseconds. Stored counts have no other ones.
    public static let latencyBoundsMs: [Double] = [
        5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 20_000,
    ]
}

extension FunctionLibrary {
    /// Adds a record to the project's history. Answers `ok`, or `fenced` if the worker was declared dead.
    ///
    /// - Parameter number: of the record, from 1 on for each start of a worker; a repeated one changes nothing.
    public static func writeHistory(
        _ keys: ProjectKeys,
        worker: String,
        number: Int,
        version: String,
        _ record: HistoryRecord
    ) -> RedisCommand {
        let counts = record.counts.sorted { $0.key < $1.key }.flatMap { [$0.key, String($0.value)] }
        return call(
            "write_history",
            keys,
            ["worker": worker, "number": String(number), "version": version],
            rest: counts
        )
    }
}

/// Plain commands that read what the library keeps for operators: history, marks, acts and jobs that are over.
public enum HistoryInquiry {
    /// Jobs that are over, and acts of operators, of which each list keeps the last.
    public static let maximumFinished = 1_000

    /// The length of a slot of the history.
    public enum Step: Sendable {
        /// Kept for an hour.
        case tenSeconds
        /// Kept for a day.
        case fiveMinutes

        public var milliseconds: Int64 { self == .tenSeconds ? 10_000 : 300_000 }
        /// Slots that are kept.
        public var count: Int64 { self == .tenSeconds ? 360 : 288 }
        fileprivate var prefix: String { self == .tenSeconds ? "f" : "c" }
    }

    /// The texts of slots, in their order; a slot is its time divided by its length. Answered as ``counts(_:slot:)``.
    public static func slots(_ keys: ProjectKeys, _ step: Step, _ slots: ClosedRange<Int64>) -> RedisCommand {
        var command = RedisCommand("HMGET", keys.base + "history")
        for slot in slots { command.append("\(step.prefix)\(slot % step.count)") }
        return command
    }

    /// The counts of a slot by name; nil if it has none, or its place holds an older one.
    public static func counts(_ text: RedisValue, slot: Int64) -> [String: Int64]? {
        guard let text = text.string else { return nil }
        let words = text.split(separator: " ")
        guard let first = words.first, Int64(first) == slot else { return nil }
        let pairs = words.dropFirst().prefix(200).compactMap { word -> (String, Int64)? in
            guard let at = word.lastIndex(of: "="), let count = Int64(word[word.index(after: at)...]) else {
                return nil
            }
            return (String(word[..<at]), min(1_000_000_000_000_000, max(0, count)))
        }
        return Dictionary(pairs) { _, last in last }
    }

    /// The project's quota now, messages a minute.
    public static func quota(_ keys: ProjectKeys) -> RedisCommand { RedisCommand("HGET", keys.base + "ctl", "quota") }

    /// The events since a time, oldest first: stream entries with `kind` and `text`.
    public static func marks(_ keys: ProjectKeys, sinceMs: Int64) -> RedisCommand {
        RedisCommand("XRANGE", keys.base + "marks", String(max(0, sinceMs)), "+")
    }

    /// The last acts of operators, newest first: stream entries with `actor`, `action`, `target` and `reason`.
    public static func audit(_ keys: ProjectKeys, most: Int) -> RedisCommand {
        RedisCommand("XREVRANGE", auditKey(keys), "+", "-", "COUNT", String(most))
    }

    /// The stream of ``audit(_:most:)``.
    public static func auditKey(_ keys: ProjectKeys) -> String { keys.base + "audit" }

    /// Appends an act that no function of the library performs.
    public static func addAudit(_ keys: ProjectKeys, _ actor: Actor, action: String, target: String) -> RedisCommand {
        RedisCommand(
            "XADD",
            auditKey(keys),
            "MAXLEN",
            "~",
            String(maximumFinished),
            "*",
            "actor",
            actor.name,
            "action",
            action,
            "target",
            target,
            "reason",
            actor.reason
        )
    }

    /// Jobs that are over, newest first, each with the Unix milliseconds of its end.
    ///
    /// - Parameters:
    ///   - before: only jobs that ended before this time; nil for no limit.
    ///   - skipping: how many of these to leave out.
    public static func finished(_ keys: ProjectKeys, before: Int64?, skipping: Int, most: Int) -> RedisCommand {
        let highest = before.map { "(\($0)" } ?? "+inf"
        return RedisCommand(
            "ZRANGE",
            keys.base + "finished",
            highest,
            "-inf",
            "BYSCORE",
            "REV",
            "LIMIT",
            String(skipping),
            String(most),
            "WITHSCORES"
        )
    }

    /// Removes jobs whose hash has expired from the list of finished jobs.
    public static func forget(_ keys: ProjectKeys, jobs: [String]) -> RedisCommand {
        var command = RedisCommand("ZREM", keys.base + "finished")
        for job in jobs { command.append(job) }
        return command
    }
}
