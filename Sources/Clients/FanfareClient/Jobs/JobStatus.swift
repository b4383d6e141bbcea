public import FanfareModel
public import StreamWire

/// The status of a job, as its hash holds it.
public struct JobStatus: Equatable, Sendable {
    /// An open set: later versions may add states.
    public struct State: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        public static let scheduled = State(rawValue: "scheduled")
        public static let waiting = State(rawValue: "waiting")
        public static let active = State(rawValue: "active")
        public static let retrying = State(rawValue: "retrying")
        public static let paused = State(rawValue: "paused")
        /// The job needs an operator.
        public static let parked = State(rawValue: "parked")
        public static let done = State(rawValue: "done")
        public static let cancelled = State(rawValue: "cancelled")
        public static let expired = State(rawValue: "expired")
        /// An entry that broke a rule; ``JobStatus/reason`` names it.
        public static let rejected = State(rawValue: "rejected")

        var isOver: Bool { [.done, .cancelled, .expired, .rejected].contains(self) }
    }

    /// The source of an audience's size. An open set: later versions may add sources.
    public struct AudienceSource: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The job's own `audience_size`.
        public static let job = AudienceSource(rawValue: "job")
        /// The configuration's `topics`.
        public static let config = AudienceSource(rawValue: "config")
        /// Fanfare's count of the subscriptions that it made: a lower bound.
        public static let counted = AudienceSource(rawValue: "counted")
        /// No size is known.
        public static let none = AudienceSource(rawValue: "none")
    }

    public var id: String
    public var state: State
    /// Recipients. When the job is over, ``sent``, ``failed``, ``unknown``, ``cancelled`` and ``expired`` add up to it.
    public var total: Int64
    /// Accepted by FCM; not known to be delivered or shown.
    public var sent: Int64
    /// Refused permanently, or given up after the last attempt.
    public var failed: Int64
    /// Ended after an attempt without an answer; the message may have arrived.
    public var unknown: Int64
    /// Cancelled before an attempt.
    public var cancelled: Int64
    /// Expired before an attempt.
    public var expired: Int64
    /// Recipients that wait for their next attempt.
    public var retrying: Int64
    /// Recipients with a result that may have got the message more than once. A worker of an older version counts none.
    public var maybeDup: Int64
    /// How often a job with this id was pushed again and not sent.
    public var duplicates: Int64
    /// When the job was pushed, Unix milliseconds.
    public var createdMs: Int64?
    /// Nothing is sent before this time, Unix milliseconds; nil unless the job was scheduled.
    public var notBeforeMs: Int64?
    /// Unix milliseconds, as the following times; nil if it has not happened.
    public var startedMs: Int64?
    public var firstPassMs: Int64?
    public var finishedMs: Int64?
    public var reason: String?
    /// The estimated size of the audience of a job to a topic or a condition; nil for every other job.
    public var audienceEstimate: Int64?
    public var audienceSource: AudienceSource?
    /// The failed recipients by error, most first. A worker of an older version counts none.
    public var errors: [JobError] = []
    /// Whether the job ended without an attempt, so that a push with its id is a new job.
    public var isIDFree = false
    /// Whether each recipient gets a message of its own.
    public var isPersonal = false
    /// The pace while the job runs; nil before its first result, and of a job of one recipient.
    var pace: JobPace?
    /// Rate, canary, conditions that stop the job, and hours in which it sends.
    public var guards = JobGuards()

    /// Reads an `HGETALL` reply; nil if the job has no hash.
    public init?(id: String, reply: RedisValue) {
        guard let fields = NamedValues(reply), let state = fields.text("state") else { return nil }
        // Bounded, so that sums and differences cannot overflow.
        func count(_ name: String) -> Int64 {
            min(1_000_000_000_000_000, max(-1_000_000_000_000_000, fields.number(name) ?? 0))
        }
        func time(_ name: String) -> Int64? {
            fields.number(name).flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil }
        }
        self.id = id
        self.state = State(rawValue: state)
        total = count("total")
        sent = count("sent")
        failed = count("failed")
        unknown = count("unknown")
        cancelled = count("cancelled")
        expired = count("expired")
        retrying = count("retrying")
        maybeDup = count("maybe_dup")
        duplicates = count("duplicates")
        createdMs = time("created_ms")
        notBeforeMs = time("not_before")
        startedMs = time("started_ms")
        firstPassMs = time("first_pass_ms")
        finishedMs = time("finished_ms")
        reason = fields.text("reason")
        audienceSource = fields.text("audience_source").map { AudienceSource(rawValue: $0) }
        audienceEstimate = fields.text("audience_estimate") == nil ? nil : max(0, count("audience_estimate"))
        pace = fields.text("pace").flatMap { JobPace($0) }
        errors = Self.errors(reply)
        isIDFree = fields.flag("id_free")
        isPersonal = fields.flag("personal")
        guards = JobGuards(hash: fields)
    }

    /// The fields `error.<error>.<action>`.
    private static func errors(_ reply: RedisValue) -> [JobError] {
        let flat = reply.array ?? []
        var errors: [JobError] = []
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            guard case .bulk(let name) = flat[index], name.starts(with: "error.".utf8),
                let parts = flat[index].string?.split(separator: "."), parts.count == 3,
                let count = flat[index + 1].integer, count > 0
            else { continue }
            errors.append(JobError(error: String(parts[1]), action: String(parts[2]), count: count))
        }
        return errors.sorted { ($1.count, $0.error, $0.action) < ($0.count, $1.error, $1.action) }
    }

    package var counters: [(name: String, count: Int64)] {
        [
            ("total", total), ("sent", sent), ("failed", failed), ("unknown", unknown), ("cancelled", cancelled),
            ("expired", expired), ("retrying", retrying), ("maybe_dup", maybeDup), ("duplicates", duplicates),
        ]
    }

    package var times: [(name: String, ms: Int64?)] {
        [
            ("created_ms", createdMs), ("not_before_ms", notBeforeMs), ("started_ms", startedMs),
            ("first_pass_ms", firstPassMs), ("finished_ms", finishedMs),
        ]
    }

    /// Recipients with a result.
    public var finished: Int64 { sent + failed + unknown + cancelled + expired }

    /// Recipients with a result that were sent to, so neither cancelled nor expired.
    public var attempted: Int64 { sent + failed + unknown }

    /// Recipients that have a result or wait for a retry.
    var tried: Int64 { min(total, finished + retrying) }

    /// Recipients of the canary while the job waits after it: all that were tried; nil for any other job.
    public var canaryTried: Int64? {
        guard state == .paused, reason == "canary" else { return nil }
        return tried
    }

    /// What the errors are a share of: recipients of the canary while the job waits after it, else recipients with a
    /// result.
    public var judged: Int64 { canaryTried ?? finished }

    /// Recipients that had no attempt yet, and recipients in flight.
    public var unattempted: Int64 { max(0, total - finished - retrying) }

    public var isOver: Bool { state.isOver }

    /// Whether an operator paused it, and no guard stopped it since.
    public var isPausedByOperator: Bool { state == .paused && reason?.hasPrefix("paused by an operator") == true }

    /// Whether it waits after a canary and continues by itself after `canary_wait_ms`.
    public var isAtTimedCanary: Bool { canaryTried != nil && guards.canaryWaitMs != nil }

    /// Why a job outside its send window waits, with the time at which the window opens; nil for any other job.
    public var closedWindow: String? {
        guard state == .waiting, guards.sendWindow != nil, let reason, reason.hasPrefix("send_window: ") else {
            return nil
        }
        return reason
    }

    /// Whether the job is over and FCM accepted every recipient.
    public var isSuccess: Bool { state == .done && sent == total }
}

extension JobGuards {
    /// The guards that a job's hash shows.
    fileprivate init(hash fields: NamedValues) {
        self.init()
        ratePerMinute = fields.number("rate").flatMap { Int(exactly: $0) }
        canary = fields.text("canary")
        canaryWaitMs = fields.number("canary_wait_ms")
        stopIf = fields.text("stop_if")
        sendWindow = fields.text("send_window")
    }
}

extension JobStatus {
    /// Whether this is what a push led to, and not what Redis held of the same id before.
    package func isNew(after earlier: JobStatus?) -> Bool {
        guard let earlier else { return true }
        return duplicates != earlier.duplicates || createdMs != earlier.createdMs
    }
}
