/// Limits retries to a percentage of all requests of any 10 s, or to ``freeRetries`` if that is more, so that an overloaded
/// service does not get mostly second attempts.
///
/// The bound holds for every window of 10 s, wherever it begins. So for each retry of the last 10 s but the newest 99,
/// the requests since then must pay for the retries since then. One running balance shows that: a first attempt raises
/// it, a retry lowers it by more, and it may not sink below its value before any of those retries.
///
/// The share is that of Google's SRE book; the least wait of a single retry is FCM's own (page "ProtocolFacts").
struct RetryBudget: Sendable {
    /// Retries in 10 s that any traffic, or none, allows: 10 a second.
    static let freeRetries = 100

    private static let bucketNs: UInt64 = 100_000_000
    /// One more than 10 s have: the oldest is partly outside, and counts whole.
    private static let bucketCount: UInt64 = 101

    private struct Retry {
        /// The balance right before it.
        var balance: Int
        var tick: UInt64
    }

    /// The part of the requests that may be retries; 100: no limit.
    let percent: Int

    /// Tenths of a second since the clock's zero, of the newest bucket.
    private var tick: UInt64 = 0
    private var balance = 0
    /// The newest ``freeRetries``, a ring; `oldest` is the one to be replaced next.
    private var newest = [Retry?](repeating: nil, count: freeRetries)
    private var oldest = 0
    /// Of the retries before those: the highest balance before a retry, for each tenth of a second; and of all.
    private var peaks = [Int?](repeating: nil, count: Int(bucketCount))
    private var highest: Int?

    /// - Parameter percent: 0 leaves only ``freeRetries``; 100 or more sets no limit; below 0 counts as 0.
    init(percent: Int = 10) { self.percent = min(max(0, percent), 100) }

    /// Counts a request that is being sent.
    ///
    /// - Parameters:
    ///   - isRetry: an attempt of this recipient was sent before. It is counted even where there was no ``room(now:)``.
    ///   - now: nanoseconds on a clock that is never set; an earlier time than before counts as that.
    mutating func sent(isRetry: Bool, now: UInt64) {
        guard percent < 100 else { return }
        advance(now)
        guard isRetry else {
            balance &+= percent
            return
        }
        if let retry = newest[oldest], isInWindow(retry) {
            let index = Int(retry.tick % Self.bucketCount)
            peaks[index] = max(peaks[index] ?? .min, retry.balance)
            highest = max(highest ?? .min, retry.balance)
        }
        newest[oldest] = Retry(balance: balance, tick: tick)
        oldest = (oldest + 1) % Self.freeRetries
        balance &-= 100 - percent
    }

    /// How many retries may be sent now, one after the other: at most ``freeRetries``, since a window may begin with the
    /// first of them; `Int.max` without a limit. Costs at most that many steps.
    mutating func room(now: UInt64) -> Int {
        guard percent < 100 else { return .max }
        advance(now)
        var bound = highest
        var after = balance
        for count in 0..<Self.freeRetries {
            // With each retry more, one retry more stops being among the free ones.
            if let retry = newest[(oldest + count) % Self.freeRetries], isInWindow(retry) {
                bound = max(bound ?? .min, retry.balance)
            }
            after &-= 100 - percent
            if let bound, after < bound { return count }
        }
        return Self.freeRetries
    }

    private func isInWindow(_ retry: Retry) -> Bool { tick - retry.tick < Self.bucketCount }

    private mutating func advance(_ now: UInt64) {
        let newTick = now / Self.bucketNs
        guard newTick > tick else { return }
        for step in 0..<min(newTick - tick, Self.bucketCount) { peaks[Int((newTick - step) % Self.bucketCount)] = nil }
        tick = newTick
        highest = nil
        for peak in peaks { if let peak { highest = max(highest ?? .min, peak) } }
    }
}
