public import FanfareModel

/// The call of `claim`, which a worker makes every few milliseconds: for work, permits to send, and news.
public struct ClaimCall: Equatable, Sendable {
    public var worker: String
    /// The most batches that the reply may hold, without batches of ending jobs.
    public var most: Int
    /// The most batches of ending jobs, which send nothing; nil: as many as `most`, but at most ``usualEndings``.
    public var endings: Int?
    /// Recipients after which claiming stops: of fan-outs, and of jobs of one batch.
    public var wanted: Int
    public var wantedSingle: Int
    /// Recipients of jobs without a message.
    public var wantedManaged = 0
    /// How many sends of each batch may begin at once.
    public var window: Int
    /// The retry budget: recipients that were sent before.
    public var retries: Int
    public var quotaPerMinute: Int
    /// Permits that were lent and are not needed.
    public var returned = 0
    /// Permits that lapsed since the last claim although recipients wait.
    public var lapsed = 0
    /// Permits wanted for jobs of one batch, and for fan-outs.
    public var permitsSingle = 0
    public var permitsFanout = 0
    public var activeFanouts = 1
    public var smear = false
    public var backlogLimit = 1_000_000
    /// The last news that this worker has read, of jobs and of refused rates.
    public var newsCursor = "0"
    public var refusedCursor = "0"
    /// Number of the worker's connection to Redis: a call that an earlier one delivers is refused.
    public var connection = 0
    /// The worker's estimate of the project's time; 0 when it has none yet.
    public var nowMs: Int64 = 0
    /// FCM's answers since the last claim; nil from a worker that counts none.
    public var answers: AnswerReport?
    /// Recipients at hand that FCM has not refused, while the project is blocked; nil when it is not.
    public var held: Int?
    /// How many of ``held`` are of jobs that FCM has not refused since the project is blocked.
    public var others: Int?
    /// Recipients of the fan-out's next multicast: 0 when there is none, nil if every request carries one recipient.
    public var multicast: Int?
    /// Whether that multicast is of a job of one batch, which does not wait for the debt of fan-outs.
    public var isMulticastSmall = false
    /// Whether the process lets the project run a quarantined batch; nil from a worker that does not say.
    public var quarantine: Quarantine?

    /// Batches of ending jobs in one claim: more would keep Redis from others for too long.
    public static let usualEndings = 8

    public enum Quarantine: String, CaseIterable, Sendable {
        /// The project claims as always.
        case none
        /// The project runs such a batch, or waits until it may: it gets nothing more.
        case busy
        /// See ``QuarantineMode``.
        case shared, exclusive
    }

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
        var optional: [String] = []
        if let answers {
            optional += ["answers", String(answers.answers)]
            // Fields that are 0 in most claims are left out.
            if answers.answers > 0 { optional += ["span", String(answers.spanMs)] }
            if answers.failing > 0 { optional += ["failing", String(answers.failing)] }
            if answers.refused > 0 {
                optional += ["refused", String(answers.refused), "retry_after", String(answers.retryAfterMs)]
            }
        }
        if let multicast { optional += ["multicast", String(multicast)] }
        if isMulticastSmall { optional += ["small", "1"] }
        if lapsed > 0 { optional += ["lapsed", String(lapsed)] }
        if let quarantine { optional += ["quarantine", quarantine.rawValue] }
        if let held { optional += ["held", String(held)] }
        if let others { optional += ["others", String(others)] }
        if let endings, endings != min(most, Self.usualEndings) { optional += ["endings", String(endings)] }
        return FunctionLibrary.call(
            "claim",
            keys,
            [
                "worker": worker, "most": String(most), "wanted": String(wanted),
                "wanted_single": String(wantedSingle), "window": String(window), "retries": String(retries),
                "quota": String(quotaPerMinute), "returned": String(returned),
                "permits_single": String(permitsSingle), "permits_fanout": String(permitsFanout),
                "active_fanouts": String(activeFanouts), "smear": smear ? "1" : "0",
                "backlog_limit": String(backlogLimit), "news_cursor": newsCursor, "refused_cursor": refusedCursor,
                "wanted_managed": String(wantedManaged), "connection": String(connection),
                "worker_clock": String(nowMs),
            ],
            rest: optional
        )
    }
}

/// How a process runs a quarantined batch: one that several workers in a row held when they died.
public enum QuarantineMode: String, Equatable, Sendable {
    /// Other projects send beside it, but run no quarantined batch.
    case shared
    /// Nothing else of the process is in flight, so a death is this batch's.
    case exclusive
}

/// The reply of `claim`: work, permits, news, and reasons to wait.
public struct ClaimReply: Equatable, Sendable {
    /// The project's time in milliseconds: it runs evenly when Redis' clock is set.
    public var nowMs: Int64
    /// The project's time minus Redis TIME, milliseconds.
    public var projectClockOffsetMs: Int64
    /// Every send of the project waits this long; 0 when nothing holds it.
    public var holdMs: Int64
    /// Time to the next probe of a blocked project; 0 when it is not blocked.
    public var probeMs: Int64
    public var blockReason: String
    /// Whether this worker may send one of the recipients that it holds as the probe of a blocked project.
    public var isProbe = false
    /// Hashes of recipients that FCM has refused since the last accepted send: as many as block the project, at most.
    public var doubted: Set<UInt64> = []
    /// When the next retry or held-back job is due, in the project's time; 0 when there is none.
    public var nextDueMs: Int64
    /// A job whose audience is being copied; empty when there is none.
    public var copying: String
    /// A quarantined batch waits for this worker, which has to run it in this mode; nil when there is none.
    public var suspect: QuarantineMode?
    /// A job whose send window has closed: a worker computes when it opens next. Nil when there is none.
    public var closedWindow: ClosedWindow?
    /// Entries in the stream and jobs that are not over, parked ones left out.
    public var unfinished: Int64
    /// Sends that may begin; the permits expire a quarter of a second after the call was sent.
    public var permits: Int
    /// Why an operator has paused the project; empty when none has.
    public var pauseReason: String
    /// Why no worker may take on more: a stream that is not read, or `memory`; empty when nothing stops it.
    public var pressure: String
    public var newsCursor: String
    public var refusedCursor: String
    public var news: [News]
    public var claims: [Claim]
    /// Specs of claimed jobs by their ids; the spec of any other has to be asked for.
    public var specs: [String: JobSpec] = [:]

    public enum ParseResult: Equatable, Sendable {
        case reply(ClaimReply)
        /// The worker was declared dead; it has to register again under a new name.
        case fenced
    }

    public static func parse(_ value: RedisValue) -> ParseResult? {
        guard let reply = NamedValues(value) else { return nil }
        switch reply.outcome {
        case "fenced": return .fenced
        case "ok": return (try? ClaimReply(reply)).map { .reply($0) }
        default: return nil
        }
    }
}

extension ClaimReply {
    private init(_ reply: NamedValues) throws {
        func text(_ name: String) throws -> String { try NamedValues.required(reply.text(name)) }
        func number(_ name: String) throws -> Int64 {
            try NamedValues.bounded(NamedValues.required(reply.number(name)))
        }
        nowMs = try number("now")
        projectClockOffsetMs = try number("clock_offset")
        holdMs = try number("hold_ms")
        probeMs = try number("probe_ms")
        blockReason = try text("block")
        isProbe = reply.flag("probe")
        // "<hash>/<job>" of each.
        let doubts = reply.text("doubts") ?? ""
        doubted = Set(doubts.split(separator: " ").compactMap { UInt64($0.prefix { $0 != "/" }, radix: 16) })
        nextDueMs = try number("next_due")
        copying = try text("copying")
        // Both absent in replies of older libraries.
        suspect = reply.text("suspect").flatMap(QuarantineMode.init)
        if let job = reply.text("closed_window_job"), !job.isEmpty, let window = reply.text("closed_window") {
            closedWindow = ClosedWindow(job: job, window: window)
        }
        unfinished = try number("unfinished")
        permits = Int(try number("permits"))
        pauseReason = try text("pause")
        pressure = try text("pressure")
        newsCursor = try text("news_cursor")
        refusedCursor = try text("refused_cursor")
        news = try NamedValues.required(reply["news"].flatMap(News.list))
        claims = try NamedValues.required(reply["claims"]?.array).map { try Claim($0) }
        let pairs = reply.list("specs")
        for at in stride(from: 0, to: pairs.count - 1, by: 2) {
            if let job = pairs[at].string { specs[job] = JobSpec(pairs[at + 1]) }
        }
    }
}

/// A job whose send window has closed.
public struct ClosedWindow: Equatable, Sendable {
    public var job: String
    /// The job's `send_window`.
    public var window: String
}
