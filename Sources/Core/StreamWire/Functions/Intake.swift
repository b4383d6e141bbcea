public import FanfareModel

/// The call of `intake`: a checked entry becomes a job.
public struct IntakeCall: Sendable {
    public let job: Job
    public let spec: JobSpec
    public let recipients: RecipientList?
    public var dedupeMs: Int64
    public var keepMs: Int64
    /// The worker that may take a job of one batch at once; nil queues the job.
    public var taker: String?
    public var window: Int
    /// Messages a minute; a job that is taken comes with permits.
    public var quotaPerMinute: Int
    /// Recipients a second of FCM's own fan-out, by which a broadcast keeps the slot.
    public var fanoutRate: Int
    /// The estimated audience of a broadcast; nil for every other job. Default: the job's own size, if given.
    public var audience: AudienceEstimate?
    /// Number of the worker's connection to Redis: a job that an earlier connection delivers is queued, not taken.
    public var connection = 0
    /// The worker's estimate of the project's time; 0 when it has none yet.
    public var nowMs: Int64 = 0
    /// The times of the job's send window; nil without one.
    public var windowTimes: WindowTimes?
    /// The entry's own fields. All but message and recipients are stored, for the operator who finds the job parked.
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
        self.originals = originals
    }

    /// The short call of `intakes`, for a job that may be compact; nil for any other.
    public func shortCall() -> RedisCommand? {
        guard taker != nil, recipients?.count == 1, jobClass.isEmpty, audience == nil, job.notBefore == 0,
            job.expiresAt == 0, !job.isPersonal, job.guards.isEmpty
        else { return nil }
        var arguments = RedisCommand(bytes: argumentBytes, words: argumentWords)
        appendArguments(to: &arguments)
        guard arguments.shared.isEmpty else { return nil }
        var call = RedisCommand(shortCall: arguments.byteCount + 5 * arguments.count + 64, words: 3)
        call.append(job.entryID)
        call.append(job.hasOwnID ? job.id : "")
        call.appendText(of: arguments)
        return call
    }

    public func command(_ keys: ProjectKeys) -> RedisCommand {
        var command = FunctionLibrary.call("intake", keys, bytes: argumentBytes, words: argumentWords)
        appendArguments(to: &command)
        return command
    }

    /// Bytes of the arguments, about.
    private var argumentBytes: Int {
        let stored = originals.reduce(512) { $0 + (Self.isStored($1.name) ? $1.value.count : 0) }
        let copied = isLarge ? 0 : recipients?.byteCount ?? 0
        return spec.message.count + (spec.variants?.count ?? 0) + stored + copied
    }

    private var argumentWords: Int { 40 + 2 * originals.count + (recipients?.count ?? 0) / Batch.maximumSize }

    /// Whether the recipients are not copied into the command.
    private var isLarge: Bool { recipients.map { $0.byteCount >= RedisCommand.large } ?? false }

    /// Whether a job that is parked shows this field of its entry.
    private static func isStored(_ name: String) -> Bool {
        switch name {
        case "message", "variants", "tokens", "fids", "recipients": false
        default: true
        }
    }

    private func appendArguments(to command: inout RedisCommand) {
        var texts = spec.texts
        texts += audienceTexts
        texts += guardTexts
        let stored = originals.count { Self.isStored($0.name) }
        appendHead(to: &command, pairs: 1 + texts.count + stored + (spec.variants == nil ? 0 : 1))
        for (name, value) in originals where Self.isStored(name) {
            command.append { word in
                word.append(contentsOf: "f.".utf8)
                word.append(contentsOf: name.utf8)
            }
            command.append(value)
        }
        command.append("message")
        command.append(spec.message)
        if let variants = spec.variants {
            command.append("variants")
            command.append(variants)
        }
        for (name, value) in texts {
            command.append(name)
            command.append(value)
        }
        if let recipients {
            let isLarge = isLarge
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
    }

    /// - Parameter pairs: how many fields of the job follow.
    private func appendHead(to command: inout RedisCommand, pairs: Int) {
        command.append(job.entryID, as: "entry")
        command.append(job.id, as: "id")
        command.append(job.hasOwnID, as: "has_own_id")
        command.append(dedupeMs, as: "dedupe_ms")
        command.append(keepMs, as: "keep_ms")
        // A guarded job is claimed, because its claim decides how much of it may be sent.
        command.append(job.guards.isEmpty ? taker ?? "" : "", as: "worker")
        command.append(window, as: "window")
        command.append(recipients?.count ?? -1, as: "total")
        if case .audience(let key) = job.target {
            command.append(key, as: "audience")
        } else {
            command.append("", as: "audience")
        }
        command.append(job.notBefore, as: "not_before")
        command.append(job.expiresAt, as: "expires_at")
        command.append(as: "member") {
            ProjectKeys.appendQueueMember(priority: job.priority, entryID: job.entryID, jobID: job.id, to: &$0)
        }
        command.append(jobClass, as: "class")
        command.append(quotaPerMinute, as: "quota")
        command.append(connection, as: "connection")
        command.append(nowMs, as: "worker_clock")
        command.append(pairs, as: "pairs_count")
    }

    /// The job's class, as Redis stores it; empty leaves it to the number of recipients.
    private var jobClass: String {
        guard job.operation == .send else { return "managed" }
        switch job.target {
        case .topic, .condition: return JobPlan.Class.broadcast.rawValue
        case .group: return "group"
        case .tokens, .fids, .audience, .recipients: return ""
        }
    }

    /// Spec fields of the guards that the spec itself does not hold.
    private var guardTexts: [(name: String, value: String)] {
        guard !job.guards.isEmpty else { return [] }
        var texts = [("guarded", "1")]
        if let windowTimes { texts += windowTimes.texts }
        if let rate = job.guards.ratePerMinute, rate > quotaPerMinute {
            texts.append(("reason", "rate: \(rate) a minute, cut to the project's quota of \(quotaPerMinute)"))
        }
        return texts
    }

    /// Spec fields of a broadcast: how long FCM is estimated to be busy, and the estimate from which it follows.
    private var audienceTexts: [(name: String, value: String)] {
        guard jobClass == JobPlan.Class.broadcast.rawValue else { return [] }
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

    /// The recipients that an entry itself names; nil for an audience. An operation on a group has the group's key, or its
    /// name while the key is not known.
    public static func recipients(of job: Job) -> RecipientList? {
        switch job.target {
        case .tokens(let tokens): return tokens
        case .fids(let fids): return fids
        case .recipients(let elements): return elements
        case .topic(let name): return [name]
        // A line separates recipients; inside a condition it is white space like any other.
        case .condition(let text): return [String(text.map { $0.isNewline ? " " : $0 })]
        case .group(let key): return [key.isEmpty ? job.groupName : key]
        case .audience: return nil
        }
    }
}

public enum IntakeReply: Equatable, Sendable {
    /// Another worker handed the entry over.
    case gone
    case duplicate
    case reject(reason: String)
    case queued
    /// The job has no recipients.
    case done
    /// The job is one batch, and the taker holds it; `permits` of its sends may begin. `held`: of a compact job, what Redis
    /// keeps of the hand-over.
    case taken(epoch: String, permits: Int, held: String? = nil)

    private static let compactPrefix = "taken "

    /// The error code of `intake` for an entry whose id may soon be free: it is handed over again later.
    public static let ending = "ENDING"

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch reply.outcome {
        case .some(let text) where text.hasPrefix(Self.compactPrefix):
            // "taken <epoch> <started_ms> <permits>"
            guard let end = text.lastIndex(of: " "), let permits = Int(text[text.index(after: end)...]),
                text.utf8.count(where: { $0 == UInt8(ascii: " ") }) == 3
            else { return nil }
            let held = text.dropFirst(Self.compactPrefix.count)[..<end]
            self = .taken(epoch: String(held.prefix { $0 != " " }), permits: permits, held: String(held))
        case "gone": self = .gone
        case "duplicate": self = .duplicate
        case "queued": self = .queued
        case "done": self = .done
        case "reject":
            guard let reason = reply.text("reason") else { return nil }
            self = .reject(reason: reason)
        case "taken":
            guard let epoch = reply.text("epoch"), let permits = reply.number("permits") else { return nil }
            self = .taken(epoch: epoch, permits: Int(permits))
        default: return nil
        }
    }
}

/// The estimated audience of a broadcast, as the reply of `intake` has it.
public struct AudienceReply: Equatable, Sendable {
    public var source: AudienceEstimate.Source
    public var size: Int64

    /// nil for every other job.
    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value), let size = reply.number("size"),
            let source = reply.text("source").flatMap(AudienceEstimate.Source.init(rawValue:))
        else { return nil }
        self.source = source
        self.size = size
    }
}
