public import FanfareModel

/// The hand-over of a checked entry to the job's own keys.
public struct IntakeCall: Sendable {
    public var job: Job
    public var dedupeMs: Int64
    public var keepMs: Int64
    /// The worker that takes a job of one batch at once; nil leaves it to the queue.
    public var taker: String?
    public var window: Int
    /// For the permits that come with a job that is taken.
    public var quotaPerMinute: Int
    /// FCM's own fan-out, recipients a second: how long a topic or condition keeps the slot.
    public var fanoutRate: Int
    /// Number of the worker's connection to Redis: what an earlier one still delivers is queued, not taken.
    public var connection = 0
    /// What the worker takes the project's time for; 0 when it knows none yet.
    public var nowMs: Int64 = 0
    /// The entry's own fields, kept for the person who finds the job parked. Message and recipients are kept anyway.
    public var originals: [(name: String, value: [UInt8])]

    public init(
        job: Job,
        dedupeMs: Int64,
        keepMs: Int64,
        taker: String?,
        window: Int,
        quotaPerMinute: Int,
        fanoutRate: Int,
        originals: [(name: String, value: [UInt8])] = []
    ) {
        self.job = job
        self.dedupeMs = dedupeMs
        self.keepMs = keepMs
        self.taker = taker
        self.window = window
        self.quotaPerMinute = quotaPerMinute
        self.fanoutRate = fanoutRate
        self.originals = originals.filter { !["message", "tokens", "fids"].contains($0.name) }
    }

    public func command(_ keys: ProjectKeys) -> RedisCommand {
        let recipients = Self.recipients(of: job)
        var audience = ""
        if case .audience(let key) = job.target { audience = key }
        let member = ProjectKeys.queueMember(priority: job.priority, entryID: job.entryID, jobID: job.id)
        var command = FunctionLibrary.call(
            "intake",
            keys,
            [
                job.entryID, job.id, job.hasOwnID ? "1" : "0", String(dedupeMs), String(keepMs), taker ?? "",
                String(window), String(recipients?.count ?? -1), audience, String(job.notBefore),
                String(job.expiresAt), member, turnClass, String(quotaPerMinute),
                String(connection), String(nowMs),
            ]
        )
        var pairs = JobSpec(job: job, total: recipients?.count ?? 0).pairs
        if turnClass == "aimed" { pairs.append(("hold_ms", Array(String(slotMs).utf8))) }
        command.append(pairs.count + originals.count)
        for (name, value) in originals {
            command.append("f." + name)
            command.append(value)
        }
        for (name, value) in pairs {
            command.append(name)
            command.append(value)
        }
        if let recipients {
            command.reserve(bytes: recipients.byteCount, words: recipients.count / Batch.maximumSize + 1)
            for start in stride(from: 0, to: recipients.count, by: Batch.maximumSize) {
                command.append(recipients.lines(start..<min(start + Batch.maximumSize, recipients.count)))
            }
        }
        return command
    }

    /// How the job takes its turn among the project's; empty leaves it to the number of recipients.
    private var turnClass: String {
        guard job.operation == .send else { return "managed" }
        switch job.target {
        case .topic, .condition: return "aimed"
        case .group: return "group"
        case .tokens, .fids, .audience: return ""
        }
    }

    /// How long FCM is estimated to be busy with a topic or condition; at most a day, whatever a producer claims.
    private var slotMs: Int64 {
        let (scaled, overflow) = max(0, job.audienceSize).multipliedReportingOverflow(by: 1_000)
        return min(86_400_000, overflow ? .max : scaled / Int64(max(1, fanoutRate)))
    }

    /// The recipients that an entry itself names; nil for an audience. An operation on a group has one, the group: by its
    /// key, or where that is only to be learned, by its name.
    public static func recipients(of job: Job) -> RecipientList? {
        switch job.target {
        case .tokens(let tokens): return tokens
        case .fids(let fids): return fids
        case .topic(let name): return [name]
        // A line separates recipients; inside a condition it is white space like any other.
        case .condition(let text): return [String(text.map { $0.isNewline ? " " : $0 })]
        case .group(let key): return [key.isEmpty ? job.groupName : key]
        case .audience: return nil
        }
    }
}

public enum IntakeReply: Equatable, Sendable {
    /// Another worker handed it over.
    case gone
    case duplicate
    case reject(reason: String)
    case queued
    /// There was nobody to send to.
    case done
    /// One batch, and the taker holds it.
    /// `permits` of its sends may begin.
    case taken(epoch: String, permits: Int)

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch (word, parts.count > 1 ? parts[1].string : nil) {
        case ("gone", _): self = .gone
        case ("duplicate", _): self = .duplicate
        case ("queued", _): self = .queued
        case ("done", _): self = .done
        case ("reject", let reason?): self = .reject(reason: reason)
        case ("taken", let epoch?) where parts.count > 2:
            guard let permits = parts[2].integer else { return nil }
            self = .taken(epoch: epoch, permits: Int(permits))
        default: return nil
        }
    }
}
