/// Model of FCM for one project: its answers, and a quota window that is not aligned with Fanfare's.
final class FCMModel {
    enum Answer {
        case accepted, failed
        /// 503, with or without a Retry-After.
        case busy(retryAfterMs: Int64?)
        /// 429: FCM did not act on the request.
        case slowDown(retryAfterMs: Int64)
        /// FCM accepted the message, but the answer was lost.
        case lost
        /// The request never left.
        case unsent
    }

    private let quota: Int
    private let phase: Int
    private var window = -1
    private var count = 0
    var outageUntil = 0

    init(quota: Int, phase: Int) {
        self.quota = quota
        self.phase = phase
    }

    /// Counts a request; returns false if it exceeds the quota.
    func admit(_ now: Int) -> Bool {
        let current = (now + phase) / 60_000_000
        if current != window {
            window = current
            count = 0
        }
        count += 1
        return count <= quota
    }

    func answer(_ scenario: Scenario, quiet: Bool, _ dice: inout Dice, now: Int) -> Answer {
        if now < outageUntil {
            return dice.chance(0.3) ? .busy(retryAfterMs: Int64(dice.int(500...3_000))) : .busy(retryAfterMs: nil)
        }
        if scenario.unreachable.contains(now) { return .lost }
        if !quiet, now >= scenario.refusedFrom, dice.chance(scenario.refusedShare) {
            return .busy(retryAfterMs: 10_000)
        }
        guard !quiet else { return dice.chance(scenario.failChance) ? .failed : .accepted }
        let draw = dice.unit()
        var edge = scenario.askToWaitChance
        if draw < edge { return .slowDown(retryAfterMs: Int64(dice.int(300...3_000))) }
        edge += scenario.busyChance
        if draw < edge { return .busy(retryAfterMs: nil) }
        edge += scenario.lostChance
        if draw < edge { return .lost }
        edge += scenario.failChance
        return draw < edge ? .failed : .accepted
    }
}
