/// The token bucket for collapsible messages to one app instance: a burst of 20, refilled by one every 3 minutes. A
/// message that comes too soon waits; it is not refused.
///
/// An instance is remembered by its hash, until its whole burst is back.
struct Throttle: Equatable, Sendable {
    static let burst = 20
    static let refillMs: Int64 = 180_000
    /// Instances that are watched at once. Further ones are not throttled.
    static let maximumWatched = 2_000_000
    private static let burstMs = Int64(burst) * refillMs

    /// When the whole burst is back, Unix milliseconds. Every message moves it by one refill.
    private var fullMs: [UInt64: Int64] = [:]
    private var sweptMs: Int64 = 0

    var watchedCount: Int { fullMs.count }

    /// The earliest time for the next message, Unix milliseconds, at least `nowMs`.
    func slotMs(_ instance: String, nowMs: Int64) -> Int64 {
        guard let full = fullMs[TokenHash.of(instance)] else { return nowMs }
        return max(nowMs, full &+ Self.refillMs &- Self.burstMs)
    }

    /// Counts one message. Call it only when ``slotMs(_:nowMs:)`` has come.
    mutating func consume(_ instance: String, nowMs: Int64) {
        sweep(nowMs)
        let hash = TokenHash.of(instance)
        let full = fullMs[hash]
        guard full != nil || fullMs.count < Self.maximumWatched else { return }
        fullMs[hash] = max(full ?? nowMs, nowMs) &+ Self.refillMs
    }

    /// How many messages may still go at once.
    func left(_ instance: String, nowMs: Int64) -> Int {
        let full = max(nowMs, fullMs[TokenHash.of(instance)] ?? nowMs)
        return max(0, Self.burst - Int((full - nowMs + Self.refillMs - 1) / Self.refillMs))
    }

    /// Moves an instance to its new token.
    mutating func rename(_ old: String, to new: String) {
        fullMs[TokenHash.of(new)] = fullMs.removeValue(forKey: TokenHash.of(old))
    }

    /// Forgets full buckets, once per refill: a constant cost for each message on average.
    private mutating func sweep(_ nowMs: Int64) {
        guard nowMs - sweptMs >= Self.refillMs || nowMs < sweptMs else { return }
        sweptMs = nowMs
        fullMs = fullMs.filter { $0.value > nowMs }
    }
}
