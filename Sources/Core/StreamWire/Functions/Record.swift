public import FanfareModel

/// The call of `record`: one flush of one batch. It writes results, retries, feedback and the watermark in one step.
public struct RecordCall: Equatable, Sendable {
    public typealias Status = ResultStatus

    public struct Retry: Equatable, Sendable {
        public var index: Int
        /// In the project's time.
        public var dueMs: Int64
        /// True when it waits for the project's probe.
        public var parked: Bool
        public var packed: String
        public init(index: Int, dueMs: Int64, parked: Bool, packed: String) {
            self.index = index
            self.dueMs = dueMs
            self.parked = parked
            self.packed = packed
        }
    }

    public struct Feedback: Equatable, Sendable {
        public var index: Int
        public var kind: String
        public var recipient: String
        public var action: String
        public var replacement: String
        public var error: String
        public init(
            index: Int,
            kind: String,
            recipient: String,
            action: String,
            replacement: String,
            error: String
        ) {
            self.index = index
            self.kind = kind
            self.recipient = recipient
            self.action = action
            self.replacement = replacement
            self.error = error
        }
    }

    /// A recipient that FCM refused for its rate, or a topic.
    public struct RefusedRate: Equatable, Sendable {
        /// `<kind>:<recipient>`
        public var recipient: String
        /// The project's time before which no send to it begins, in any job and any worker.
        public var untilMs: Int64
        public init(recipient: String, untilMs: Int64) {
            self.recipient = recipient
            self.untilMs = untilMs
        }
    }

    public var job: String
    public var batch: String
    public var epoch: String
    /// The watermark, which the reply confirms; nil leaves it.
    public var watermark: Int?
    /// Every recipient of the batch is accounted for: the batch closes.
    public var finish = false
    /// Facts only, from a worker that no longer holds the batch.
    public var late = false
    /// The last send of the batch has begun.
    public var allSent = false
    public var holdMs: Int64 = 0
    /// Why the project is blocked until an operator acts, whichever recipient was refused; empty when it is not.
    public var blockReason = ""
    /// FCM accepted a send of the project: a block, if there was one, is over, and so is a doubt.
    public var projectAnswers = false
    /// The project's probe proved nothing: the next one begins at once.
    public var probeUnused = false
    /// Why FCM refused a recipient or the project; empty when it did not.
    public var refusal = ""
    /// Hashes of the recipients that were refused after the last accepted send, and count as evidence against the project.
    public var refused: [UInt64] = []
    /// The fingerprint of the credential that was refused.
    public var refusedCredential: UInt64 = 0
    /// The fingerprint of a credential with an accepted send; nil when Redis need not hear of it.
    public var acceptedCredential: UInt64?
    /// Grows with each call of a batch, so that a repeated call is recognised.
    public var number = 1
    /// First attempts of a fan-out whose outcome this flush reports.
    public var answers = 0
    /// A digit for each of them, up to the last that FCM refused for the message: 1 for those, 0 for any other. Empty when
    /// there is none.
    public private(set) var refusals: [UInt8] = []
    /// What the last of those refusals names, such as `message.android.ttl`; empty when they name nothing.
    public private(set) var refusedDetail = ""
    public var results = ResultBuffer()
    public var retries: [Retry] = []
    public var feedback: [Feedback] = []
    public var refusedRates: [RefusedRate] = []
    /// The topic of a subscription, a line feed, and 8 bytes for each token that was subscribed; empty for every other job.
    public var subscribed: [UInt8] = []
    /// Results with 0 attempts.
    public var untried = 0
    /// The job, if the batch is a compact one and this is its only flush.
    public var compact: CompactJob?
    /// A letter for each recipient whose first attempt this flush reports; empty unless the job has `stop_if`.
    public var firstAttempts: [UInt8] = []

    public init(job: String, batch: String, epoch: String) {
        self.job = job
        self.batch = batch
        self.epoch = epoch
    }

    /// Adds the next first attempt of a fan-out, which FCM refused for the message.
    public mutating func appendRefusal(_ detail: String) {
        refusals.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: answers - refusals.count))
        refusals.append(UInt8(ascii: "1"))
        answers += 1
        if !detail.isEmpty { refusedDetail = detail }
    }

    /// - Parameters:
    ///   - nowMs: the worker's estimate of the project's time; 0 when it has none yet.
    ///   - indexesTokens: whether the index by token gets the wanted results.
    public func command(
        _ keys: ProjectKeys,
        worker: String,
        nowMs: Int64 = 0,
        indexesTokens: Bool = true
    ) -> RedisCommand {
        let size = job.utf8.count + worker.utf8.count + refusals.count + results.byteCount
        var command = FunctionLibrary.call("record", keys, bytes: size + 256, words: 32 + 4 * retries.count)
        command.append(job, as: "id")
        command.append(batch, as: "n")
        command.append(epoch, as: "epoch")
        command.append(worker, as: "worker")
        if let watermark { command.append(watermark, as: "watermark") } else { command.append("", as: "watermark") }
        command.append(finish, as: "finish")
        command.append(late, as: "late")
        command.append(holdMs, as: "hold_ms")
        command.append(blockReason, as: "block_reason")
        command.append(projectAnswers ? 1 : probeUnused ? 2 : 0, as: "project_answers")
        command.append(answers, as: "answers")
        command.append(0, as: "bad_answers")
        command.append("", as: "bad_answer")
        // As indexes, letters and objects.
        results.append(to: &command)
        command.append(retries.count, as: "retries")
        command.append(feedback.count, as: "feedback")
        command.append(number, as: "number")
        command.append(allSent, as: "all_sent")
        command.append(refusedRates.count, as: "refused_rates")
        command.append(nowMs, as: "worker_clock")
        for retry in retries {
            command.append(retry.index)
            command.append(retry.dueMs)
            command.append(retry.parked ? "1" : "0")
            command.append(retry.packed)
        }
        for entry in feedback {
            command.append(entry.index)
            command.append(entry.kind)
            command.append(entry.recipient)
            command.append(entry.action)
            command.append(entry.replacement)
            command.append(entry.error)
        }
        for rate in refusedRates {
            command.append(rate.recipient)
            command.append(rate.untilMs)
        }
        appendOptions(to: &command)
        results.appendErrors(to: &command)
        results.appendFlags(to: &command)
        if indexesTokens { results.appendFingerprints(to: &command) }
        return command
    }

    /// Appends the names that most flushes leave out.
    private func appendOptions(to command: inout RedisCommand) {
        if !subscribed.isEmpty {
            command.append("subscribed")
            command.append(subscribed)
        }
        if !firstAttempts.isEmpty {
            command.append("attempts")
            command.append(firstAttempts)
        }
        if !refusals.isEmpty {
            command.append("refusals")
            command.append(refusals)
            if !refusedDetail.isEmpty {
                command.append("refused_detail")
                command.append(refusedDetail)
            }
        }
        if untried > 0, untried == results.count {
            command.append("untried")
            command.append("1")
        }
        appendRefusals(to: &command)
    }

    private func appendRefusals(to command: inout RedisCommand) {
        if let acceptedCredential {
            command.append("accepted")
            command.append(Self.hexadecimal(acceptedCredential))
        }
        guard !refusal.isEmpty else { return }
        command.append("refusal")
        command.append(refusal)
        guard !refused.isEmpty else { return }
        command.append("refused")
        command.append(refused.map(Self.hexadecimal).joined(separator: " "))
        command.append("credential")
        command.append(Self.hexadecimal(refusedCredential))
    }

    private static func hexadecimal(_ number: UInt64) -> String { String(number, radix: 16) }
}

public enum RecordReply: Equatable, Sendable {
    /// Written.
    case ok(guarded: GuardedReply = GuardedReply())
    /// Another worker holds the batch; nothing was written.
    case stale
    /// The job is over.
    case gone

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch reply.outcome {
        case "ok": self = .ok(guarded: GuardedReply(reply))
        case "stale": self = .stale
        case "gone": self = .gone
        default: return nil
        }
    }
}

/// The part of the reply to a flush that pauses the job, or holds its sends back.
public struct GuardedReply: Equatable, Sendable {
    /// The batch's watermark, where a guard or a pause did not allow the one that was asked for; nil where it was allowed.
    public var watermark: Int?
    /// After this time a higher watermark may be asked for, milliseconds.
    public var waitMs: Int64 = 0
    /// The guard that paused the job with this flush; nil for none.
    public var paused: PauseGuard?
    /// The reason of the pause, equal to that in the job's hash.
    public var reason = ""

    public init() {}

    init(_ reply: NamedValues) {
        watermark = reply.number("watermark").map(Int.init)
        waitMs = reply.number("wait_ms") ?? 0
        paused = reply.text("paused").flatMap(PauseGuard.init)
        reason = reply.text("reason") ?? ""
    }
}

/// A cause for which workers pause a job by themselves. The raw value is the field of the job, and the label of the metric.
public enum PauseGuard: String, CaseIterable, Sendable {
    case canary
    case stopIf = "stop_if"
    /// FCM refuses the message of a fan-out, whatever its guards.
    case message
}
