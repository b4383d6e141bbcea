/// The guards of a fan-out in Redis: what holds it back, and what pauses it.
struct GuardRecord {
    /// Recipients in a batch, by which a rate limits the batches that workers hold.
    let batchSize: Int
    /// First attempts a minute; nil without a rate.
    var rate: Int?
    /// Recipients in the canary; nil without one, or when the job is no larger.
    var canary: Int?
    /// Length of the pause after the canary; nil when it waits for an operator.
    var canaryWaitMs: Int64?
    /// The job stops when more than this share of its first attempts fails, in tenths of a percent; nil for never.
    var maximumFailed: Int?
    /// First attempts that the stop condition is judged over. The library's is 1,000.
    var sampleSize = 1_000

    /// How the end of the canary holds the job.
    enum Hold { case none, held, afterPause }

    // Progress.
    var have: Double?
    var countedAtMs: Int64 = 0
    var hold = Hold.none
    var canaryUntilMs: Int64?
    var isCanaryOver = false
    /// The last first attempts; true for a failed one.
    var sample: [Bool] = []

    init(batchSize: Int) { self.batchSize = batchSize }

    /// How many batches of a job with a rate may be in their first pass; see `most_held` in guards.lua.
    func maximumHeld(quota: Int) -> Int {
        guard let (perMs, _) = pace(quota: quota) else { return .max }
        return 1 + Int((2_000 * perMs / Double(batchSize)).rounded(.up))
    }

    /// The canary's size while no other recipient may be sent to.
    var limit: Int? { isCanaryOver ? nil : canary }

    /// Permits a millisecond, and the most that can be kept; see `pace_of_rate` in guards.lua.
    func pace(quota: Int) -> (perMs: Double, cap: Double)? {
        guard let rate else { return nil }
        let perSecond = 0.985 * Double(min(rate, quota)) / 60
        return (perSecond / 1_000, max(1, perSecond / 4))
    }

    /// Counts the first attempts that may be allowed now.
    ///
    /// - Returns: their number, the time until there is one, and the most that there can be; nil without a rate.
    mutating func refill(quota: Int, _ nowMs: Int64) -> (have: Double, waitMs: Int64, cap: Double)? {
        guard let (perMs, cap) = pace(quota: quota) else { return nil }
        let passed = have == nil ? 0 : max(0, nowMs - countedAtMs)
        let now = min(cap, (have ?? cap) + Double(passed) * perMs)
        have = now
        countedAtMs = nowMs
        return (now, now >= 1 ? 0 : Int64(((1 - now) / perMs).rounded(.up)), cap)
    }

    /// Whether the stop condition holds for the sample.
    func isBroken(isEndOfCanary: Bool) -> Bool {
        guard let maximumFailed, !sample.isEmpty, isEndOfCanary || sample.count >= sampleSize else { return false }
        return sample.count { $0 } * 1_000 > maximumFailed * sample.count
    }
}
