public import FanfareModel

/// The hand-over of a checked entry to the job's own keys.
public struct IntakeCall: Sendable {
    public let job: Job
    /// What the job's workers need to know of it.
    public let spec: JobSpec
    /// See ``recipients(of:)``.
    public let recipients: RecipientList?
    public var dedupeMs: Int64
    public var keepMs: Int64
    /// The worker that takes a job of one batch at once; nil leaves it to the queue.
    public var taker: String?
    public var window: Int
    /// For the permits that come with a job that is taken.
    public var quotaPerMinute: Int
    /// FCM's own fan-out, recipients a second: how long a topic or condition keeps the slot.
    public var fanoutRate: Int
    /// The estimated audience of a topic or condition; nil for every other job. Default: the job's own size, if given.
    public var audience: AudienceEstimate?
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
        let recipients = Self.recipients(of: job)
        self.recipients = recipients
        spec = JobSpec(job: job, total: recipients?.count ?? 0)
        self.dedupeMs = dedupeMs
        self.keepMs = keepMs
        self.taker = taker
        self.window = window
        self.quotaPerMinute = quotaPerMinute
        self.fanoutRate = fanoutRate
        audience = job.audienceSize.map { .known($0, .job) }
        self.originals = originals.filter { $0.name != "message" && $0.name != "tokens" && $0.name != "fids" }
    }

    public func command(_ keys: ProjectKeys) -> RedisCommand {
        let texts = spec.texts
        let audience = audienceTexts
        let fields = 1 + texts.count + audience.count
        let isLarge = recipients.map { $0.byteCount >= RedisCommand.large } ?? false
        let copied = isLarge ? 0 : recipients?.byteCount ?? 0
        let size = spec.message.count + originals.reduce(0) { $0 + $1.value.count } + copied
        let batches = (recipients?.count ?? 0) / Batch.maximumSize + 1
        var command = FunctionLibrary.call(
            "intake",
            keys,
            bytes: size + 768,
            words: 17 + 2 * (fields + originals.count) + batches
        )
        appendHead(to: &command)
        command.append(fields + originals.count)
        for (name, value) in originals {
            command.append { word in
                word.append(contentsOf: "f.".utf8)
                word.append(contentsOf: name.utf8)
            }
            command.append(value)
        }
        command.append("message")
        command.append(spec.message)
        for (name, value) in texts + audience {
            command.append(name)
            command.append(value)
        }
        if let recipients {
            for start in stride(from: 0, to: recipients.count, by: Batch.maximumSize) {
                let batch = start..<min(start + Batch.maximumSize, recipients.count)
                if isLarge {
                    command.append(sharedLines: batch, of: recipients)
                } else {
                    var done = 0
                    command.append { recipients.appendLines(batch, from: &done, to: &$0) }
                }
            }
        }
        return command
    }

    /// What stands before the job's fields.
    private func appendHead(to command: inout RedisCommand) {
        command.append(job.entryID)
        command.append(job.id)
        command.append(job.hasOwnID ? "1" : "0")
        command.append(dedupeMs)
        command.append(keepMs)
        command.append(taker ?? "")
        command.append(window)
        command.append(recipients?.count ?? -1)
        if case .audience(let key) = job.target { command.append(key) } else { command.append("") }
        command.append(job.notBefore)
        command.append(job.expiresAt)
        command.append { word in
            ProjectKeys.appendQueueMember(
                priority: job.priority,
                entryID: job.entryID,
                jobID: job.id,
                to: &word
            )
        }
        command.append(turnClass)
        command.append(quotaPerMinute)
        command.append(connection)
        command.append(nowMs)
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

    /// Spec fields of a topic's or condition's job: how long FCM is estimated to be busy, and the estimate behind it.
    private var audienceTexts: [(name: String, value: String)] {
        guard turnClass == "aimed" else { return [] }
        switch audience {
        case nil: return [("hold_ms", "0")]
        case .known(let size, let source):
            return [
                ("hold_ms", String(slotMs(size))), ("audience_source", source.rawValue),
                ("audience_estimate", String(size)),
            ]
        case .counted(let formula):
            return [("hold_ms", "0"), ("audience_formula", formula), ("fanout_rate", String(max(1, fanoutRate)))]
        }
    }

    /// At most a day, whatever a producer claims.
    private func slotMs(_ size: Int64) -> Int64 {
        let (scaled, overflow) = max(0, size).multipliedReportingOverflow(by: 1_000)
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

/// The audience of a topic's or condition's job, as the reply to its hand-over has it.
public struct AudienceReply: Equatable, Sendable {
    public var source: AudienceEstimate.Source
    public var size: Int64

    /// Nil for every other job.
    public init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count > 2, parts[0].string == "queued",
            let source = parts[1].string.flatMap(AudienceEstimate.Source.init(rawValue:)), let size = parts[2].integer
        else { return nil }
        self.source = source
        self.size = size
    }
}
