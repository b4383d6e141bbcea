public import FanfareModel

/// What a worker asks of Redis every few milliseconds: work that it has room for, permits to send, and news.
public struct ClaimCall: Equatable, Sendable {
    public var worker: String
    /// Batches at most.
    public var most: Int
    /// Recipients of fan-outs, and of other jobs; no further batch is given once there are that many.
    public var wanted: Int
    public var wantedSingle: Int
    /// Recipients of jobs without a message.
    public var wantedManaged = 0
    /// How many sends of each batch may begin at once.
    public var window: Int
    /// Recipients that may be taken though they were sent to before: the retry budget.
    public var retries: Int
    public var quotaPerMinute: Int
    /// Permits that were lent and are not needed.
    public var returned = 0
    /// Permits wanted for jobs of one batch, and for fan-outs.
    public var permitsSingle = 0
    public var permitsFanout = 0
    public var activeFanouts = 1
    public var smear = false
    public var backlogLimit = 1_000_000
    /// The last that this worker has heard of jobs, and of refused rates.
    public var newsCursor = "0"
    public var refusedCursor = "0"
    /// Number of the worker's connection to Redis: a call that an earlier one still delivers is refused.
    public var connection = 0
    /// What the worker takes the project's time for; 0 when it knows none yet.
    public var nowMs: Int64 = 0
    /// FCM's answers since the last claim; nil from a worker that counts none.
    public var answers: AnswerReport?
    /// Recipients of the fan-out's next multicast, which cannot be divided: 0 when there is none, nil if every request
    /// carries one recipient.
    public var unit: Int?

    public init(
        worker: String,
        most: Int,
        wanted: Int,
        wantedSingle: Int,
        window: Int,
        retries: Int,
        quotaPerMinute: Int
    ) {
        self.worker = worker
        self.most = most
        self.wanted = wanted
        self.wantedSingle = wantedSingle
        self.window = window
        self.retries = retries
        self.quotaPerMinute = quotaPerMinute
    }

    public func command(_ keys: ProjectKeys) -> RedisCommand {
        var arguments = [
            worker, String(most), String(wanted), String(wantedSingle), String(window), String(retries),
            String(quotaPerMinute), String(returned), String(permitsSingle), String(permitsFanout),
            String(activeFanouts), smear ? "1" : "0", String(backlogLimit), newsCursor, refusedCursor,
            String(wantedManaged), String(connection), String(nowMs),
        ]
        if let answers {
            arguments += ["answers", String(answers.answers)]
            // Fields that are 0 in most claims are left out.
            if answers.answers > 0 { arguments += ["span", String(answers.spanMs)] }
            if answers.refused > 0 {
                arguments += ["refused", String(answers.refused), "told", String(answers.retryAfterMs)]
            }
        }
        if let unit { arguments += ["unit", String(unit)] }
        return FunctionLibrary.call("claim", keys, arguments)
    }
}

/// What a worker has to hear of at once.
public enum News: Equatable, Sendable {
    /// The job was paused or parked: what is unsent of batches claimed before goes back. Later epochs were claimed after
    /// it went on.
    case stop(job: String, epoch: Int64)
    /// The job ends: each unfinished recipient gets this status without a send.
    case end(job: String, status: String)
    /// No send to this recipient begins before this time, Unix milliseconds.
    case rate(recipient: String, untilMs: Int64)

    /// Events of a kind that this version does not know are left out.
    static func list(_ value: RedisValue) -> [News]? {
        guard let parts = value.array, parts.count.isMultiple(of: 3) else { return nil }
        return stride(from: 0, to: parts.count, by: 3).compactMap { at in
            guard let kind = parts[at].string, let name = parts[at + 1].string, let value = parts[at + 2].string else {
                return nil
            }
            switch kind {
            case "stop": return Int64(value).map { .stop(job: name, epoch: $0) }
            case "end": return .end(job: name, status: value)
            case "rate": return Int64(value).map { .rate(recipient: name, untilMs: $0) }
            default: return nil
            }
        }
    }
}
