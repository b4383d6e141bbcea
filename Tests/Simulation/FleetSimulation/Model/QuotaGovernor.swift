internal import FanfareModel

/// Token bucket that limits the sends of a project across all workers. It lends permits in blocks.
///
/// FCM counts in windows of 60 s that are not aligned with ours, so no 60 s may see more sends than the quota. The rate
/// is 98.5 % of the quota. A burst stays within the rest: the bucket holds a quarter of a second, and lent permits are
/// valid for a quarter of a second. From idle the rate climbs over 60 s while the permits are used and FCM answers. It
/// falls by the same slope while the bucket is full.
///
/// In production this state is in Redis and `claim` changes it. The fleet simulation runs this model, and tests compare
/// it with the library. All times are the project's, in milliseconds.
struct QuotaGovernor: Equatable, Sendable {
    /// Messages a minute.
    let quota: Int
    /// Current rate in permits a second; nil before the first call.
    var level: Double?
    /// Permits in the bucket; nil before the first call.
    var have: Double?
    var atMs: Int64?
    var holdUntilMs: Int64 = 0
    /// Whether the project is held or recovers from a hold, until FCM's answers are good again.
    var isRecovering = false
    /// Permits that fan-outs were lent in advance, for multicasts.
    private(set) var debt = 0.0
    /// The part of the debt that multicasts of one-batch jobs have.
    private(set) var smallDebt = 0.0
    /// When a multicast was last lent.
    private(set) var multicastAtMs: Int64 = 0
    /// Permits reserved for single recipients that found none, and the end of the reservation.
    private var owed = 0
    private var owedUntilMs: Int64 = 0
    /// Permits lent in each half second; empty unless a project with a small quota sends multicasts.
    private var lent: [Int64: Int] = [:]
    private var keepsLent = false

    // The workers' reports; see ``apply(_:nowMs:)``.
    var reports: [CountedAnswers] = []
    var answeredAtMs: Int64 = 0
    /// When FCM last answered well.
    var goodAtMs: Int64 = 0
    var refusedAtMs: Int64 = 0
    var share = 0.0

    init(quota: Int) { self.quota = max(1, quota) }

    /// The highest rate, in permits a second.
    var full: Double { 0.985 * Double(quota) / 60 }
    /// The rate at which the climb begins. A rate of up to ten a second needs no climb.
    var floor: Double { min(full, max(full / 50, 10)) }
    /// Permits that may be lent in advance without a look at the last minute.
    private var slack: Double { Double(quota) * 0.0068 }
    /// The longest time between two calls in which permits count as used, in seconds.
    private static let longestUse = 1.0
    /// Requests a second of a project that recovers from a hold.
    static let recoveryRate = 10.0

    /// Lends permits. Single recipients may get the whole bucket. Fan-outs get at most half, so that other workers find
    /// permits too, and never the last tenth, which is reserved for single recipients.
    ///
    /// - Parameters:
    ///   - returned: unused permits that the worker returns. Permits that would overflow the bucket are lost.
    ///   - single: permits wanted for recipients that do not wait for a turn.
    ///   - fanout: permits wanted for fan-outs.
    ///   - unit: recipients of the fan-out's next multicast, which is lent whole or not at all and may put the fan-out
    ///     share into debt. nil if each request carries one recipient.
    ///   - isSmall: whether that multicast is of a job of one batch, which does not wait for the debt of fan-outs.
    /// - Returns: the permits lent, valid for 250 ms from before the call.
    mutating func lend(returned: Int, single: Int, fanout: Int, unit: Int? = nil, isSmall: Bool = false, nowMs: Int64)
        -> Int
    {
        var bucket = refill(nowMs)
        guard bucket.cap > 0 else {
            save(bucket)
            return 0
        }
        let returned = max(0, returned)
        let single = max(0, single)
        var left = Int.max
        var lately: Int?
        if slack < Double(Batch.maximumSize), unit != nil || keepsLent {
            takeBack(returned, nowMs)
            let sum = lent.values.reduce(0, +)
            lately = sum
            left = max(0, quota - sum)
        }
        let repaid = min(bucket.debt, Double(returned))
        bucket.debt -= repaid
        bucket.smallDebt = min(bucket.smallDebt, bucket.debt)
        bucket.have = min(bucket.cap, bucket.have + Double(returned) - repaid)
        let given = min(single, Int(bucket.have), left)
        bucket.have -= Double(given)
        let missing = single - given
        owe(missing, lent: given, nowMs)
        let reserve = max(Double(owed), bucket.cap >= 20 ? bucket.cap / 10 : 0)
        let spare = Int((bucket.have - reserve).rounded(.down))
        var more = 0
        if fanout > 0, spare > 0, bucket.debt < 1 {
            let half = Int((bucket.have / 2).rounded(.up))
            more = min(fanout, spare, left - given, max(half, min(spare, 10)))
        }
        if let unit, unit > 1, more < unit {
            let unit = min(unit, max(1, quota / 4))
            let kept = Double(quota) / (isSmall ? 20 : 10)
            let hasSlack = !isSmall || bucket.debt + Double(unit) <= slack
            let hasRoom = lately.map { Double($0 + unit) <= Double(quota) - kept } ?? hasSlack
            more = hasRoom && missing == 0 ? bucket.lend(unit, spare: spare, isSmall: isSmall) : 0
            if more > 0 { multicastAtMs = nowMs }
        } else {
            bucket.have -= Double(more)
        }
        if lately != nil { lent[nowMs / 500, default: 0] += given + more }
        save(bucket)
        return given + more
    }

    /// Reserves permits for single recipients that found none; their workers claim again soon.
    private mutating func owe(_ missing: Int, lent: Int, _ nowMs: Int64) {
        // Only a request that found too few permits prolongs the reservation; otherwise fan-outs would never begin.
        let debt = owedUntilMs > nowMs ? max(0, owed - lent) : 0
        owed = max(debt, missing)
        if missing > 0 { owedUntilMs = nowMs + 150 }
    }

    private mutating func takeBack(_ returned: Int, _ nowMs: Int64) {
        keepsLent = true
        lent = lent.filter { $0.key * 500 >= nowMs - 60_750 }
        var returned = returned
        for at in [nowMs / 500, nowMs / 500 - 1] {
            let count = min(returned, lent[at] ?? 0)
            if count > 0 { lent[at, default: 0] -= count }
            returned -= count
        }
    }

    /// Lends nothing until the hold is over; then the project recovers. If two holds overlap, the later end counts.
    mutating func hold(milliseconds: Int64, nowMs: Int64) { hold(untilMs: nowMs + milliseconds) }

    mutating func hold(untilMs: Int64) {
        holdUntilMs = max(holdUntilMs, untilMs)
        have = 0
        atMs = holdUntilMs
        isRecovering = true
    }

    /// The remaining time of the project's hold, in milliseconds.
    func holdMs(nowMs: Int64) -> Int64 { max(0, holdUntilMs - nowMs) }

    private struct Bucket {
        var level: Double
        var have: Double
        /// 0 while the project is held.
        var cap: Double
        var debt: Double
        var smallDebt: Double
        var isRecovering: Bool
        var atMs: Int64

        mutating func lend(_ unit: Int, spare: Int, isSmall: Bool) -> Int {
            guard (isSmall ? smallDebt : debt) < 1, have >= 1 else { return 0 }
            let paid = isRecovering ? 1 : min(unit, max(0, spare))
            let owed = Double(unit - (isRecovering ? 0 : paid))
            have -= Double(paid)
            debt += owed
            if isSmall { smallDebt += owed }
            return unit
        }
    }

    private func refill(_ nowMs: Int64) -> Bucket {
        let full = full
        let floor = floor
        let slope = (full - floor) / 60
        var level = min(full, max(floor, self.level ?? floor))
        var debt = debt
        var smallDebt = smallDebt
        if holdUntilMs > nowMs {
            return Bucket(
                level: level,
                have: 0,
                cap: 0,
                debt: debt,
                smallDebt: smallDebt,
                isRecovering: isRecovering,
                atMs: holdUntilMs
            )
        }
        let share = refusedAtMs > 0 && nowMs < refusedAtMs + Self.refusalCountsMs ? share : 0
        func pace() -> Double { isRecovering ? min(full, Self.recoveryRate) : level * (1 - share) }
        let rate = pace()
        var cap = max(1, rate / 4)
        var have = self.have ?? cap
        var at = atMs
        if let last = atMs, nowMs > last {
            let passed = Double(min(nowMs - last, 600_000)) / 1_000
            let filling = min(passed, max(0, cap - have + (isRecovering ? 0 : debt)) / rate)
            var income = rate * filling
            let answers = isAnswering(nowMs)
            let most = isRecovering ? level / 2 * passed : income - max(0, max(1, cap / 10) - have)
            let paid = min(debt, max(0, most))
            debt -= paid
            smallDebt = max(0, smallDebt - paid)
            if !isRecovering { income -= paid }
            have += income
            let gain = isRecovering ? filling : answers ? 2 * min(filling, Self.longestUse) : 0
            level = min(full, max(floor, level + slope * (gain - passed)))
            cap = max(1, pace() / 4)
        } else if let last = atMs, last > nowMs + 1_000 {
            // The clock was set back: continue from the current permits.
            at = nowMs
        }
        return Bucket(
            level: level,
            have: min(have, cap),
            cap: cap,
            debt: debt,
            smallDebt: smallDebt,
            isRecovering: isRecovering,
            atMs: max(at ?? nowMs, nowMs)
        )
    }

    /// One answer to a multicast counts for as long as its debt is paid.
    private func isAnswering(_ nowMs: Int64) -> Bool {
        guard goodAtMs > 0 else { return false }
        if nowMs <= goodAtMs + Self.answersWithinMs { return true }
        return debt > 0 && goodAtMs >= multicastAtMs && goodAtMs >= answeredAtMs
    }

    /// Rounds to six decimals, as Redis stores them.
    private mutating func save(_ bucket: Bucket) {
        func rounded(_ value: Double) -> Double { (value * 1_000_000).rounded() / 1_000_000 }
        level = rounded(bucket.level)
        have = rounded(bucket.have)
        debt = rounded(bucket.debt)
        smallDebt = rounded(bucket.smallDebt)
        share = rounded(share)
        atMs = bucket.atMs
    }
}
