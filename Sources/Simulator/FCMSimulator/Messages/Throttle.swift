/// How often an app on a device gets collapsible messages: 20 at once, and one more every 3 minutes. What comes too soon
/// waits, and is not refused.
///
/// Instances are remembered by hash, and only until all of their burst is back.
struct Throttle: Equatable, Sendable {
    static let burst = 20
    static let refillMs: Int64 = 180_000
    /// Instances that are watched at once. Beyond it others get everything at once.
    static let mostWatched = 2_000_000
    private static let burstMs = Int64(burst) * refillMs

    /// When the whole burst is back, Unix milliseconds: it moves by one refill with every message.
    private var fullMs: [UInt64: Int64] = [:]
    private var sweptMs: Int64 = 0

    var watchedCount: Int { fullMs.count }

    /// The earliest time at which a message may go, Unix milliseconds; `nowMs` when that is now.
    func slotMs(_ instance: String, nowMs: Int64) -> Int64 {
        guard let full = fullMs[TokenHash.of(instance)] else { return nowMs }
        return max(nowMs, full &+ Self.refillMs &- Self.burstMs)
    }

    /// Call when ``slotMs(_:nowMs:)`` has come.
    mutating func take(_ instance: String, nowMs: Int64) {
        sweep(nowMs)
        let hash = TokenHash.of(instance)
        let full = fullMs[hash]
        guard full != nil || fullMs.count < Self.mostWatched else { return }
        fullMs[hash] = max(full ?? nowMs, nowMs) &+ Self.refillMs
    }

    /// How many may still go at once.
    func left(_ instance: String, nowMs: Int64) -> Int {
        let full = max(nowMs, fullMs[TokenHash.of(instance)] ?? nowMs)
        return max(0, Self.burst - Int((full - nowMs + Self.refillMs - 1) / Self.refillMs))
    }

    /// An instance that got a new token is the same one.
    mutating func rename(_ old: String, to new: String) {
        fullMs[TokenHash.of(new)] = fullMs.removeValue(forKey: TokenHash.of(old))
    }

    /// Once per refill, and so a constant cost for each message on average.
    private mutating func sweep(_ nowMs: Int64) {
        guard nowMs - sweptMs >= Self.refillMs || nowMs < sweptMs else { return }
        sweptMs = nowMs
        fullMs = fullMs.filter { $0.value > nowMs }
    }
}
