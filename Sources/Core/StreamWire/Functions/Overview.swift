extension FunctionLibrary {
    /// Asks what the project is doing; writes nothing. Answers an ``OverviewReply``.
    public static func overview(_ keys: ProjectKeys) -> RedisCommand { call("overview", keys) }

    /// Asks for what ``overview(_:)`` gives, with the jobs, the workers and the counts that people look at; writes nothing.
    ///
    /// - Parameter most: jobs of each list at most.
    public static func fleet(_ keys: ProjectKeys, most: Int) -> RedisCommand {
        call("fleet", keys, ["most": String(most)])
    }
}

/// The reply of `overview`: what a project is doing, at one moment.
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
    /// Why workers take no jobs: `results` (unread results), `memory` (Redis is nearly full); empty for no reason.
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
    /// For how long FCM is still busy with the broadcasts among them, milliseconds.
    public var activeLeftMs: [String: Int64] = [:]
    public var epoch = ""

    /// nil when the reply is no list of pairs with the time in it. Names that are missing keep their defaults.
    public init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let nowMs = fields.number("now_ms") else { return nil }
        func text(_ name: String) -> String { fields.text(name) ?? "" }
        // Bounded, so that arithmetic on what stands there cannot overflow.
        func number(_ name: String) -> Int64 { min(1_000_000_000_000_000, max(0, fields.number(name) ?? 0)) }
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
