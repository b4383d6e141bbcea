extension FunctionLibrary {
    /// Reads the project's state. Answers an ``OverviewReply``.
    public static func overview(_ keys: ProjectKeys) -> RedisCommand { call("overview", keys) }

    /// Reads the project's state with its workers, its counts and `most` jobs of each list.
    public static func fleet(_ keys: ProjectKeys, most: Int) -> RedisCommand {
        call("fleet", keys, ["most": String(most)])
    }
}

/// The reply of `overview`: the state of a project at one moment.
public struct OverviewReply: Equatable, Sendable {
    /// Redis TIME in Unix milliseconds.
    public var nowMs: Int64
    /// True while an operator's pause holds the project.
    public var isPaused = false
    public var pauseReason = ""
    /// Why nothing can be sent until an operator acts; empty when nothing blocks.
    public var blockReason = ""
    /// Every send waits this long, as FCM asked; 0 when nothing holds them.
    public var holdMs: Int64 = 0
    /// Whether the project recovers from a hold: it sends at most ten requests a second until FCM answers well.
    public var isRecovering = false
    /// Why the project sends less than half of what its ramp allows, such as `pace: 13 of 656 sends a second: …`; empty
    /// when it does not.
    public var paceReason = ""
    /// Why workers take no jobs: a stream that is not read, such as `results`, `memory` (Redis is nearly full) or
    /// `eviction`; empty for no reason, and if no worker lives: the note is an old one then.
    public var pressure = ""
    /// A service that cannot be reached, and why; empty when none is known to be away.
    public var unreachable = ""
    /// Since when, Unix milliseconds; 0 if all can be reached.
    public var unreachableSinceMs: Int64 = 0
    /// Whether only the worker that ``unreachable`` names says so, while FCM answers another.
    public var isUnreachablePartly = false
    public var isUnreachable: Bool { !unreachable.isEmpty && !isUnreachablePartly }
    /// Jobs that are neither over nor parked.
    public var open: Int64 = 0
    public var parked: Int64 = 0
    /// Entries of `jobs` that no worker has handed over yet.
    public var entries: Int64 = 0
    /// Recipients that wait for another attempt.
    public var retrying: Int64 = 0
    public var scheduled: Int64 = 0
    public var resting = RestingJobs()
    public var waitingFanouts: Int64 = 0
    public var workers: Int64 = 0
    /// Workers of ``workers`` whose lease holds.
    public var workersAlive: Int64 = 0
    /// Messages a minute; 0 when no worker has reported it yet.
    public var quotaPerMinute: Int64 = 0
    /// Permits a second at this moment of the ramp.
    public var permitsPerSecond: Double = 0
    public var active: [String] = []
    /// For how long FCM is still busy with the broadcasts among them, milliseconds.
    public var activeLeftMs: [String: Int64] = [:]
    public var epoch = ""

    /// An overview of a project about which nothing is known at that time.
    public init(nowMs: Int64) { self.nowMs = nowMs }

    /// Nil when the reply is no list of pairs with the time in it. Names that are missing keep their defaults.
    public init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let nowMs = fields.number("now_ms") else { return nil }
        func text(_ name: String) -> String { fields.text(name) ?? "" }
        self.nowMs = nowMs
        isPaused = fields.flag("paused")
        pauseReason = text("pause_reason")
        blockReason = text("block")
        holdMs = fields.count("hold_ms")
        isRecovering = fields.flag("recovering")
        paceReason = text("pace")
        unreachable = text("unreachable")
        unreachableSinceMs = fields.count("unreachable_since")
        isUnreachablePartly = fields.flag("unreachable_partly")
        open = fields.count("open")
        parked = fields.count("parked")
        entries = fields.count("entries")
        retrying = fields.count("retrying")
        scheduled = fields.count("scheduled")
        resting = RestingJobs(fields)
        waitingFanouts = fields.count("waiting_fanouts")
        workers = fields.count("workers")
        workersAlive = fields.number("alive") == nil ? workers : fields.count("alive")
        if workersAlive > 0 { pressure = text("pressure") }
        quotaPerMinute = fields.count("quota")
        if let rate = Double(text("rate")), rate > 0, rate < 1e12 { permitsPerSecond = rate }
        active = text("active").split(separator: " ").map(String.init)
        for (job, left) in zip(active, text("active_left").split(separator: " ")) {
            activeLeftMs[job] = Int64(left).map { min(1_000_000_000_000_000, max(0, $0)) }
        }
        epoch = text("epoch")
    }

    /// Why workers take no jobs, as a sentence; nil for no reason.
    public var pressureText: String? { Self.text(ofPressure: pressure) }

    public static func text(ofPressure pressure: String) -> String? {
        switch pressure {
        case "": nil
        case "memory": "Redis is nearly out of memory"
        case "eviction": "Redis may drop keys: set its maxmemory-policy to noeviction"
        default: "the stream \(pressure) is not read: a consumer group is too far behind"
        }
    }
}
