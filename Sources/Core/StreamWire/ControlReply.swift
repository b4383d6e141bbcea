/// The answer to `cancel`, `pause` and `resume` of a job.
public enum JobControlReply: Equatable, Sendable {
    /// Done, or done before: the state that the job is in now.
    case ok(state: String)
    /// The job was over before; nothing changed.
    case over(state: String)
    /// There is no such job: never pushed, not yet taken by a worker, or no longer kept.
    case missing
    /// Only a replay or a drop of its entry in `dead` moves a parked job.
    case parked

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch (word, parts.count > 1 ? parts[1].string : nil) {
        case ("ok", let state?): self = .ok(state: state)
        case ("over", let state?): self = .over(state: state)
        case ("missing", _): self = .missing
        case ("parked", _): self = .parked
        default: return nil
        }
    }
}

/// The answer to `cancel_entry`.
public enum EntryCancelReply: Equatable, Sendable {
    /// It ends as soon as a worker takes it.
    case found
    /// Not found yet; the search goes on behind this entry.
    case more(behind: String)
    case missing

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch (word, parts.count > 1 ? parts[1].string : nil) {
        case ("ok", _): self = .found
        case ("more", let entry?): self = .more(behind: entry)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}

/// The answer to `replay`.
public enum ReplayReply: Equatable, Sendable {
    /// The parked job goes on with its unfinished recipients; the entry has left `dead`.
    case resumed(job: String)
    /// The rejected fields were pushed again, as this entry of `jobs`.
    case pushed(entryID: String)
    /// No such entry in `dead`.
    case missing
    /// The entry's job was parked and is no longer there, or no longer parked.
    case gone(job: String)
    /// Another job of the same id is not over yet; the entry stays in `dead`.
    case busy(job: String)

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch (word, parts.count > 1 ? parts[1].string : nil) {
        case ("resumed", let job?): self = .resumed(job: job)
        case ("pushed", let entryID?): self = .pushed(entryID: entryID)
        case ("gone", let job?): self = .gone(job: job)
        case ("busy", let job?): self = .busy(job: job)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}

/// The answer to `drop`.
public enum DropReply: Equatable, Sendable {
    /// The entry has left `dead`; if its job was parked, what it had unfinished is being cancelled.
    case dropped(job: String)
    /// No such entry in `dead`.
    case missing

    public init?(_ value: RedisValue) {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        switch (word, parts.count > 1 ? parts[1].string : nil) {
        case ("dropped", let job?): self = .dropped(job: job)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}

/// The answer of `overview`: what a project is doing, at one moment.
public struct OverviewReply: Equatable, Sendable {
    /// Redis TIME in Unix milliseconds.
    public var nowMs: Int64
    /// True while an operator's pause holds the project.
    public var isPaused = false
    public var pauseReason = ""
    /// Why nothing can be sent until a person acts, such as refused credentials; empty when nothing blocks.
    public var blockReason = ""
    /// Every send waits this long, as FCM asked; 0 when nothing holds them.
    public var holdMs: Int64 = 0
    /// Whether the project recovers from a hold: it sends at most ten requests a second until FCM answers well.
    public var isRecovering = false
    /// What keeps workers from taking jobs: `results` (unread results), `memory` (Redis is nearly full), or nothing.
    public var pressure = ""
    /// Jobs that are neither over nor parked.
    public var open: Int64 = 0
    public var parked: Int64 = 0
    /// Entries of `jobs` that no worker has handed over yet.
    public var entries: Int64 = 0
    /// Recipients that wait for another attempt.
    public var retrying: Int64 = 0
    /// Jobs that wait for their time.
    public var scheduled: Int64 = 0
    /// Fan-outs that wait for the slot.
    public var waitingFanouts: Int64 = 0
    public var workers: Int64 = 0
    /// Messages a minute; 0 when no worker has said so yet.
    public var quotaPerMinute: Int64 = 0
    /// Permits a second at this moment of the ramp.
    public var permitsPerSecond: Double = 0
    /// The jobs that hold the slot.
    public var active: [String] = []
    /// For how long FCM is still busy with those of them that are aimed at a topic or a condition, milliseconds.
    public var activeLeftMs: [String: Int64] = [:]
    public var epoch = ""

    /// nil when the answer is no flat map with the time in it. Names that are missing keep their defaults, so that an
    /// older library can be asked too.
    public init?(_ value: RedisValue) {
        guard let flat = value.array, flat.count.isMultiple(of: 2) else { return nil }
        var fields: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count, by: 2) {
            guard let name = flat[index].string else { return nil }
            fields[name] = flat[index + 1]
        }
        guard let nowMs = fields["now_ms"]?.integer else { return nil }
        func text(_ name: String) -> String { fields[name]?.string ?? "" }
        // Bounded, so that arithmetic on what stands there cannot overflow.
        func number(_ name: String) -> Int64 { min(1_000_000_000_000_000, max(0, fields[name]?.integer ?? 0)) }
        self.nowMs = nowMs
        isPaused = number("paused") != 0
        pauseReason = text("pause_reason")
        blockReason = text("block")
        holdMs = number("hold_ms")
        isRecovering = number("recovering") != 0
        pressure = text("pressure")
        open = number("open")
        parked = number("parked")
        entries = number("entries")
        retrying = number("retrying")
        scheduled = number("scheduled")
        waitingFanouts = number("waiting_fanouts")
        workers = number("workers")
        quotaPerMinute = number("quota")
        if let rate = Double(text("rate")), rate > 0, rate < 1e12 { permitsPerSecond = rate }
        active = text("active").split(separator: " ").map(String.init)
        for (job, left) in zip(active, text("active_left").split(separator: " ")) {
            activeLeftMs[job] = Int64(left).map { min(1_000_000_000_000_000, max(0, $0)) }
        }
        epoch = text("epoch")
    }
}
