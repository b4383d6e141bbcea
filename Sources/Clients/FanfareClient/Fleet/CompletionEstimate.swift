internal import StreamWire

/// Estimates how long it takes to send what is left, from the project's ramp, its quota and the measured pace.
///
/// A pace that keeps up with the ramp climbs with it to the quota. A pace below the ramp is limited by something else,
/// such as the processor or another job, and stays what it is.
struct CompletionEstimate: Equatable, Sendable {
    /// The law by which a project's permits climb; see the page Pacing.
    struct Ramp: Equatable, Sendable {
        /// Permits a second now.
        let rate: Double
        /// Permits a second at the end of the ramp.
        let full: Double
        /// The rate at which it begins.
        let floor: Double
        /// What a second adds to the rate.
        let slope: Double

        /// nil if the quota is not known, or no worker has asked for permits yet.
        init?(quotaPerMinute: Int64, permitsPerSecond: Double) {
            guard quotaPerMinute > 0, permitsPerSecond > 0 else { return nil }
            full = 0.985 * Double(quotaPerMinute) / 60
            floor = min(full, max(full / 50, 10))
            slope = (full - floor) / 60
            rate = min(full, permitsPerSecond)
        }

        /// Whether the ramp is over; the rate is read with six decimals.
        var isOver: Bool { rate >= full - 0.001 * full || slope <= 0 }

        /// Seconds until so many permits have come.
        func seconds(for permits: Double) -> Double {
            guard permits > 0 else { return 0 }
            guard !isOver else { return permits / full }
            let climb = (full - rate) / slope
            let climbed = (rate + full) / 2 * climb
            guard permits < climbed else { return climb + (permits - climbed) / full }
            return ((rate * rate + 2 * slope * permits).squareRoot() - rate) / slope
        }

        /// Permits of the last `seconds`, at least: the rate climbed to its present value just now.
        func leastPermits(last seconds: Double) -> Double {
            guard slope > 0 else { return rate * seconds }
            let climb = min(seconds, (rate - floor) / slope)
            return (rate - slope * climb / 2) * climb + floor * (seconds - climb)
        }
    }

    /// From this share of the permits on, a pace keeps up with the ramp.
    static let keepsUpFrom = 0.85

    /// Seconds until `left` recipients are sent to.
    ///
    /// - Parameters:
    ///   - pace: recipients a second, of the job or of the project.
    ///   - share: the same beside the project's permits.
    ///   - keepsUp: whether the project's sends of the last moments used its permits.
    static func seconds(left: Int64, pace: Double, share: Double, keepsUp: Bool, ramp: Ramp?) -> Double? {
        guard left > 0 else { return 0 }
        guard pace > 0 else { return nil }
        guard let ramp, keepsUp else { return Double(left) / pace }
        return ramp.seconds(for: Double(left) / min(1, share))
    }

    /// Attempts below which a pace says nothing: the first answers of a job wait for connections.
    static let fewest: Int64 = 10

    /// From this share of the present permits on, a pace may be the ramp's. A slower one leaves permits unused: they rise to
    /// twice of what is used.
    static let usesFrom = 0.72

    /// Seconds until `left` recipients are sent to, from the pace of a job over its last seconds.
    ///
    /// - Parameters:
    ///   - whole: all that was measured.
    ///   - recent: the last of it, which is compared with the ramp: a pace leaves the ramp within a few seconds.
    static func seconds(left: Int64, whole: JobPace.Span, recent: JobPace.Span, ramp: Ramp?) -> Double? {
        guard left > 0 else { return 0 }
        guard whole.tried >= fewest, whole.seconds >= 1, recent.seconds > 0 else { return nil }
        let average = Double(left) * whole.seconds / Double(whole.tried)
        guard let ramp else { return average }
        let (tried, least) = (Double(recent.tried), ramp.leastPermits(last: recent.seconds))
        let most = ramp.isOver ? ramp.full * recent.seconds : least
        // More than the ramp gave: the rate has fallen since, for the pace does not use it.
        guard tried >= max(keepsUpFrom * least, usesFrom * ramp.rate * recent.seconds), tried <= 1.1 * most else {
            return average
        }
        return ramp.seconds(for: Double(left) / min(1, tried / least))
    }
}

extension OverviewReply {
    /// The project's ramp now; nil if it is not known, and after a hold, when the pace is not the ramp's.
    var ramp: CompletionEstimate.Ramp? {
        guard !isRecovering else { return nil }
        return CompletionEstimate.Ramp(quotaPerMinute: quotaPerMinute, permitsPerSecond: permitsPerSecond)
    }

    /// Whether nothing is known to stop the sends, so that a pace can be measured.
    var isFlowing: Bool { condition.word == "working" && !isRecovering }
}
