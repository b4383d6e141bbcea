/// How many sends of a project may begin, all workers together: the quota's share of time, lent in blocks.
///
/// FCM counts in windows of 60 s that are not aligned with ours. So no 60 s anywhere may see more than the quota: the
/// rate is 98.5 % of it, and what can come at once (the bucket, a quarter of a second, and what is lent, good for a
/// quarter of a second) stays within the rest. From idle the rate climbs over 60 s, while it is really used: it climbs
/// while the bucket is being drained and falls by the same slope while the bucket stands full.
///
/// The value lives in Redis and is worked with inside `claim`; all times are Redis TIME in Unix milliseconds.
public struct QuotaGovernor: Equatable, Sendable {
    /// Messages a minute.
    public let quota: Int
    /// Permits a second now; nil before the first look.
    public private(set) var level: Double?
    /// Permits in the bucket; nil before the first look.
    public private(set) var have: Double?
    public private(set) var atMs: Int64?
    public private(set) var holdUntilMs: Int64 = 0
    /// Permits that single recipients asked for and did not find, and until when they are kept for them.
    private var owed = 0
    private var owedUntilMs: Int64 = 0

    public init(quota: Int) { self.quota = max(1, quota) }

    /// Permits a second that the quota carries in the long run.
    public var full: Double { 0.985 * Double(quota) / 60 }
    /// Where the climb begins. A rate of up to ten a second needs none.
    public var floor: Double { min(full, max(full / 50, 10)) }

    /// Lends permits: to single recipients whatever there is; to fan-outs at most half of it, so that other workers find
    /// something too, and never the last tenth of the bucket, which is for single recipients.
    ///
    /// - Parameters:
    ///   - returned: unused permits that the worker gives back. What would overflow the bucket is lost.
    ///   - single: wanted for recipients that do not wait for a turn.
    ///   - fanout: wanted for fan-outs.
    /// - Returns: how many may be used, for 250 ms from before the call.
    public mutating func lend(returned: Int, single: Int, fanout: Int, nowMs: Int64) -> Int {
        var bucket = refill(nowMs)
        guard bucket.cap > 0 else {
            save(bucket)
            return 0
        }
        bucket.have = min(bucket.cap, bucket.have + Double(max(0, returned)))
        var lent = min(max(0, single), Int(bucket.have))
        bucket.have -= Double(lent)
        // Single recipients that found nothing come again in a moment; what comes in until then is theirs.
        // Only who asks in vain prolongs it: renewed by every call it would never end, and fan-outs never begin.
        let missing = max(0, single) - lent
        let debt = owedUntilMs > nowMs ? max(0, owed - lent) : 0
        owed = max(debt, missing)
        if missing > 0 { owedUntilMs = nowMs + 150 }
        let reserve = max(Double(owed), bucket.cap >= 20 ? bucket.cap / 10 : 0)
        let spare = Int((bucket.have - reserve).rounded(.down))
        if fanout > 0, spare > 0 {
            let half = Int((bucket.have / 2).rounded(.up))
            let more = min(fanout, spare, max(half, min(spare, 10)))
            bucket.have -= Double(more)
            lent += more
        }
        save(bucket)
        return lent
    }

    /// FCM asked for a pause: nothing is lent until it is over, and then the rate climbs again from its floor. Of two
    /// pauses the one that ends later counts.
    public mutating func hold(milliseconds: Int64, nowMs: Int64) {
        holdUntilMs = max(holdUntilMs, nowMs + milliseconds)
        level = 0
        have = 0
        atMs = holdUntilMs
    }

    /// How long every send of the project still has to wait, in milliseconds.
    public func holdMs(nowMs: Int64) -> Int64 { max(0, holdUntilMs - nowMs) }

    private struct Bucket {
        var level: Double
        var have: Double
        /// 0 while the project is held.
        var cap: Double
        var atMs: Int64
    }

    private func refill(_ nowMs: Int64) -> Bucket {
        let full = full
        let floor = floor
        let slope = (full - floor) / 60
        var level = min(full, max(floor, self.level ?? floor))
        if holdUntilMs > nowMs { return Bucket(level: floor, have: 0, cap: 0, atMs: holdUntilMs) }
        var have = self.have ?? max(1, level / 4)
        var cap = max(1, level / 4)
        var at = atMs
        if let last = atMs, nowMs > last {
            let passed = Double(min(nowMs - last, 600_000)) / 1_000
            let filling = min(passed, max(0, cap - have) / level)
            have += level * filling
            level = min(full, max(floor, level + slope * (2 * filling - passed)))
            cap = max(1, level / 4)
        } else if let last = atMs, last > nowMs + 1_000 {
            // The clock was set back: start over from what is there.
            at = nowMs
        }
        return Bucket(level: level, have: min(have, cap), cap: cap, atMs: max(at ?? nowMs, nowMs))
    }

    /// Kept to six decimals, as Redis keeps them.
    private mutating func save(_ bucket: Bucket) {
        level = (bucket.level * 1_000_000).rounded() / 1_000_000
        have = (bucket.have * 1_000_000).rounded() / 1_000_000
        atMs = bucket.atMs
    }
}
