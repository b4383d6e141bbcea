/// Keeps retries a small part of the traffic, so that a service in trouble is not buried under second attempts: in any
/// 10 s they are at most a percentage of all requests of those 10 s, or ``freeRetries`` if that is more.
///
/// The bound holds for every window of 10 s, wherever it begins, not only for the one before each retry: a retry may
/// not lean on requests that some window with it does not see. So what is asked of a retry is that, for each earlier
/// retry of the last 10 s, the requests since then carry the retries since then. That is one running balance (a first
/// attempt adds to it, a retry takes more off), which may not sink below where it stood at those earlier retries; kept
/// by tenths of a second, as the highest balance before a retry in each. The last ``freeRetries`` are free of it.
///
/// The share is that of Google's SRE book and of common retry libraries; the least wait of a single retry is FCM's own
/// (page "ProtocolFacts").
public struct RetryBudget: Sendable {
    /// Retries in 10 s that any traffic, or none, allows: 10 a second.
    public static let freeRetries = 100

    private static let bucketNs: UInt64 = 100_000_000
    /// One more than 10 s have: the oldest is partly outside, and counts whole.
    private static let bucketCount = 101
    /// First attempts after which a spent room is looked at again within one bucket.
    private static let freshEnough = 100

    private struct Bucket {
        var retries = 0
        /// The highest balance right before a retry of this bucket; meaningless without one.
        var peak = 0
    }

    /// The part of the requests that may be retries; 100: no limit.
    public let percent: Int

    private var buckets = [Bucket](repeating: Bucket(), count: bucketCount)
    /// Tenths of a second since the clock's zero, of the newest bucket.
    private var tick: UInt64 = 0
    private var balance = 0
    /// A lower bound of the room, found at the last look. First attempts since then only add to it.
    private var knownRoom = freeRetries
    private var freshSinceLook = 0

    /// - Parameter percent: 0 leaves only ``freeRetries``; 100 or more sets no limit; below 0 counts as 0.
    public init(percent: Int = 10) { self.percent = min(max(0, percent), 100) }

    /// Counts a request that is being sent.
    ///
    /// - Parameters:
    ///   - isRetry: an attempt of this recipient was sent before. It is counted even where there was no ``room(now:)``.
    ///   - now: nanoseconds on a clock that is never set; an earlier time than before counts as that.
    public mutating func sent(isRetry: Bool, now: UInt64) {
        guard percent < 100 else { return }
        advance(now)
        guard isRetry else {
            // Wraps after more sends than any process lives for; differences stay right across it.
            balance &+= percent
            freshSinceLook = freshSinceLook.adding(1)
            return
        }
        let index = Int(tick % UInt64(Self.bucketCount))
        if buckets[index].retries == 0 || balance &- buckets[index].peak > 0 { buckets[index].peak = balance }
        buckets[index].retries = buckets[index].retries.adding(1)
        balance &-= 100 - percent
        knownRoom = max(0, knownRoom - 1)
    }

    /// How many retries may be sent now, one after the other: at most ``freeRetries``, since a window may begin with the
    /// first of them; `Int.max` without a limit. Never more than the true room; first attempts counted since may show
    /// up in it a tenth of a second later.
    public mutating func room(now: UInt64) -> Int {
        guard percent < 100 else { return .max }
        advance(now)
        if knownRoom == 0, freshSinceLook >= Self.freshEnough { look() }
        return knownRoom
    }

    private mutating func advance(_ now: UInt64) {
        let newTick = now / Self.bucketNs
        guard newTick > tick else { return }
        let passed = Int(min(newTick - tick, UInt64(Self.bucketCount)))
        for step in 0..<UInt64(passed) {
            buckets[Int((newTick - step) % UInt64(Self.bucketCount))] = Bucket()
        }
        tick = newTick
        look()
    }

    /// The room, from the newest bucket back to the oldest.
    private mutating func look() {
        freshSinceLook = 0
        var room = Self.freeRetries
        var retries = 0
        for age in 0..<UInt64(Self.bucketCount) {
            // The clock may be younger than 10 s: the buckets are a ring, and those never used hold nothing.
            let bucket = buckets[Int((tick &+ UInt64(Self.bucketCount) &- age) % UInt64(Self.bucketCount))]
            guard bucket.retries > 0 else { continue }
            retries = retries.adding(bucket.retries)
            let free = Self.freeRetries - min(retries, Self.freeRetries)
            let carried = max(0, balance &- bucket.peak) / (100 - percent)
            room = min(room, max(free, carried))
        }
        knownRoom = room
    }
}
