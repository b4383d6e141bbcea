/// One flush of one batch: results, retries, feedback and the watermark, written in one step.
public struct RecordCall: Equatable, Sendable {
    /// The final word on a recipient, as the library counts it.
    public enum Status: Equatable, Sendable { case sent, failed, unknown, cancelled, expired }

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
    /// Sends below this position may begin once the call is answered; nil leaves the watermark.
    public var upto: Int?
    /// Every recipient of the batch is accounted for: the batch closes.
    public var finish = false
    /// Facts only, from a worker that no longer holds the batch.
    public var late = false
    /// The last send of the batch has begun; a fan-out whose batches all say so gives its slot up.
    public var allSent = false
    public var holdMs: Int64 = 0
    /// Why nothing of this project can be sent until a person acts; empty when that is not so.
    public var blockReason = ""
    /// FCM answered for this project: a block, if there was one, is over.
    public var projectAnswers = false
    /// The project's probe ended without a send: the next one need not wait.
    public var probeUnused = false
    /// Grows with each call of a batch, so that a repeated call is known as such.
    public var number = 1
    public var answers = 0
    public var badAnswers = 0
    /// The last answer that says the message is wrong, as it is to stand in results.
    public var badAnswer = ""
    public var results = ResultBuffer()
    public var retries: [Retry] = []
    public var feedback: [Feedback] = []
    public var refusedRates: [RefusedRate] = []
    /// The topic of a subscription, a line feed, and 8 bytes for each token that was subscribed; empty for every other job.
    public var subscribed: [UInt8] = []

    public init(job: String, batch: String, epoch: String) {
        self.job = job
        self.batch = batch
        self.epoch = epoch
    }

    /// - Parameter nowMs: what the worker takes the project's time for; 0 when it knows none yet.
    public func command(_ keys: ProjectKeys, worker: String, nowMs: Int64 = 0) -> RedisCommand {
        let size = job.utf8.count + worker.utf8.count + badAnswer.utf8.count + results.byteCount
        var command = FunctionLibrary.call("record", keys, bytes: size + 256, words: 32 + 4 * retries.count)
        command.append(job)
        command.append(batch)
        command.append(epoch)
        command.append(worker)
        if let upto { command.append(upto) } else { command.append("") }
        command.append(finish ? "1" : "0")
        command.append(late ? "1" : "0")
        command.append(holdMs)
        command.append(blockReason)
        command.append(projectAnswers ? "1" : probeUnused ? "2" : "0")
        command.append(answers)
        command.append(badAnswers)
        command.append(badAnswer)
        results.append(to: &command)
        command.append(retries.count)
        command.append(feedback.count)
        command.append(number)
        command.append(allSent ? "1" : "0")
        command.append(refusedRates.count)
        command.append(nowMs)
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
        if !subscribed.isEmpty {
            command.append("subscribed")
            command.append(subscribed)
        }
        return command
    }
}

public enum RecordReply: Equatable, Sendable {
    /// Written. `abort` is the error that ends every unsent recipient of the job; empty when there is none.
    case ok(abort: String)
    /// Another worker holds the batch; nothing was written.
    case stale
    /// The job is over.
    case gone

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch word {
        case "ok": self = .ok(abort: parts.count > 1 ? parts[1].string ?? "" : "")
        case "stale": self = .stale
        case "gone": self = .gone
        default: return nil
        }
    }
}
