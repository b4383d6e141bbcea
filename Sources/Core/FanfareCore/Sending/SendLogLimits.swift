internal import FanfareModel

/// Which lines the machine may log now: a failure that repeats fills neither the log nor the memory.
///
/// `now` is in nanoseconds of a clock that is never set.
struct SendLogLimits {
    private var refusals = LogThrottle(seconds: 60)
    private var tokens = LogThrottle(seconds: 60)
    private var alerts = LogThrottle(seconds: 60)
    private var blocks = LogThrottle(seconds: 60)
    /// Whether the log's last word on the project is that it is blocked.
    private var isBlockLogged = false
    private var hold = HoldNotice()
    /// What the last answer of FCM that asked this worker to wait said, and when it came.
    private var wait = (reason: "", atNs: UInt64(0))
    /// When each refusal of an operation was last logged, in the project's time, by its `raw_error`.
    private var operations: [String: Int64] = [:]
    private var unreadableJobs: [String: LogThrottle] = [:]

    private static let maximumUnreadableJobs = 1_000
    private static let maximumOperations = 16

    mutating func admitsRefusal(now: UInt64) -> Bool { refusals.admits(now: now) }
    mutating func admitsRefusedToken(now: UInt64) -> Bool { tokens.admits(now: now) }
    mutating func admitsAlert(now: UInt64) -> Bool { alerts.admits(now: now) }

    /// Admits one line a block, and one a minute where blocks come and go.
    mutating func admitsBlock(now: UInt64) -> Bool {
        guard !isBlockLogged, blocks.admits(now: now) else { return false }
        isBlockLogged = true
        return true
    }

    /// Whether the end of a block is to be logged, because its begin was.
    mutating func admitsBlockEnd() -> Bool {
        defer { isBlockLogged = false }
        return isBlockLogged
    }

    /// See ``HoldNotice/observe(heldUntil:now:)``.
    mutating func observeHold(until heldUntil: UInt64, now: UInt64) -> HoldNotice.Action? {
        hold.observe(heldUntil: heldUntil, now: now)
    }

    /// An answer of FCM asked this worker to wait.
    mutating func askedToWait(_ reason: String, now: UInt64) { wait = (reason, now) }

    /// Why the project is held: FCM's answer to this worker, if it came at most five seconds ago.
    func holdReason(now: UInt64) -> String {
        let isOwn = !wait.reason.isEmpty && now < wait.atNs.adding(5_000_000_000)
        return isOwn ? wait.reason : "FCM's answers to other workers"
    }

    /// Admits each refusal of an operation once a minute: FCM refuses a large job once for each of its requests, and words
    /// the error as it likes.
    mutating func admitsOperation(_ rawError: String, nowMs: Int64) -> Bool {
        operations = operations.filter { nowMs - $0.value < 60_000 }
        guard operations[rawError] == nil, operations.count < Self.maximumOperations else { return false }
        operations[rawError] = nowMs
        return true
    }

    /// Admits a job whose spec cannot be read once a minute.
    mutating func admitsUnreadable(_ job: String, now: UInt64) -> Bool {
        if unreadableJobs.count >= Self.maximumUnreadableJobs { unreadableJobs = [:] }
        return unreadableJobs[job, default: LogThrottle(seconds: 60)].admits(now: now)
    }
}
