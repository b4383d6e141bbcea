/// How many sends a worker may have under way at once: additive increase, multiplicative decrease, so that every worker
/// finds its share of what FCM takes without asking the others.
///
/// **Growth.** Only while the limit is used: at least half of it under way. One more per good answer (the limit doubles
/// with each round trip) up to a ceiling, beyond it one more per `limit` good answers. There is no ceiling before the
/// first decrease; afterwards it is where the last decrease led. A decrease that follows another with next to no growth
/// between them leaves the ceiling where it is: an outage drives the limit down to 1 and says nothing about
/// capacity, so the way back up is quick.
///
/// **Overload** (429, 5xx, a timeout, a refused stream): once they are more than a tenth of the last answers, times 0.7,
/// at most once per round trip and per 100 ms; and not for a send that began before the last decrease, which it could
/// not know of yet. Fewer are the faults of single recipients: acted upon each time, a steady share of 5 % would hold a
/// worker at a handful of sends, however idle FCM is.
///
/// **Rising latency**: times 0.9, at most once per round trip, while the mean of a round trip is above twice the
/// baseline and more than 200 ms above it; meanwhile nothing grows. The baseline is the least such mean seen. When half
/// the concurrency has not shortened the answers by a quarter, the delay is not a queue of ours: it becomes the baseline
/// and the limit returns to where it was. So a slower path costs a short dip, and a baseline never creeps up under a
/// queue of our own.
public struct ConcurrencyLimit: Sendable {
    /// Never more than this.
    public let maximum: Int
    /// Sends that may be under way now; 1 or more.
    public private(set) var limit: Int

    private static let leastRoundNs = 100_000_000.0
    private static let leastAnswers = 10
    private static let latencySlackNs = 200_000_000.0
    /// Answers over which the share of overload is taken. Over a few, chance alone takes a share of 5 % above the tenth
    /// in every round trip.
    private static let shareSpan = 200.0
    /// Growth since a decrease below which the next one belongs to the same trouble.
    private static let littleGrowth = 8

    /// Below it the limit grows with every answer.
    private var ceiling: Int
    /// Good answers towards the next step beyond the ceiling.
    private var steady = 0
    private var lastCut: UInt64?
    private var grownSinceCut = 0
    private var overloadShare = 0.0

    /// The mean latency of the last round trip; 0 before the first. Nanoseconds, as all here.
    private var latencyNs = 0.0
    private var baselineNs = 0.0
    /// nil: the answers still come to sends of before the last decrease, and tell nothing about the limit as it is.
    private var roundFrom: UInt64?
    private var roundSum = 0.0
    private var roundAnswers = 0
    private var trial: Trial?

    /// A row of decreases for latency.
    private struct Trial {
        var limitBefore: Int
        var ceilingBefore: Int
        /// What the first decrease led to, and the mean of the first round trip under it. Before that one nothing can be
        /// compared: while the limit was growing the latency lagged behind it.
        var limit: Int
        var latencyNs: Double?
    }

    /// - Parameters:
    ///   - maximum: what connections and streams can carry; at least 1.
    ///   - initial: where to begin; 100, the streams of one connection, unless the maximum is less.
    public init(maximum: Int, initial: Int = 100) {
        self.maximum = max(1, maximum)
        limit = min(max(1, initial), self.maximum)
        ceiling = self.maximum
    }

    /// Learns from one answer, or from the lack of one.
    ///
    /// - Parameters:
    ///   - latencyNs: from the beginning of the send to its outcome.
    ///   - inFlight: sends under way when the outcome came, this one included.
    ///   - now: nanoseconds on a clock that is never set.
    ///   - isOverload: 429, 5xx, a timeout or a refused stream. Any other answer is good here, also an error of the
    ///     message or the recipient. A send that never left says nothing: do not report it.
    public mutating func answered(latencyNs: UInt64, inFlight: Int, now: UInt64, isOverload: Bool) {
        overloadShare += ((isOverload ? 1 : 0) - overloadShare) / Self.shareSpan
        if isOverload {
            guard isOverloaded else { return }
            overloaded(sentAt: now.subtracting(latencyNs), now: now)
            return
        }
        let used = inFlight >= limit - limit / 2
        if used, trial == nil { grow() }
        measure(latencyNs, used: used, now: now)
    }

    /// More than a tenth of the last answers were overload.
    public var isOverloaded: Bool { overloadShare > 0.1 }

    private mutating func grow() {
        guard limit < maximum else { return }
        if limit >= ceiling {
            steady += 1
            guard steady >= limit else { return }
            steady = 0
        }
        limit += 1
        grownSinceCut += 1
    }

    private mutating func overloaded(sentAt: UInt64, now: UInt64) {
        var isSameTrouble = false
        if let lastCut {
            let gap = max(Self.leastRoundNs, latencyNs)
            guard sentAt >= lastCut, Double(now.subtracting(lastCut)) >= gap else { return }
            isSameTrouble = grownSinceCut < Self.littleGrowth
        }
        trial = nil
        decrease(to: 0.7, now: now)
        if !isSameTrouble { ceiling = limit }
    }

    private mutating func decrease(to factor: Double, now: UInt64) {
        limit = max(1, Int(Double(limit) * factor))
        steady = 0
        grownSinceCut = 0
        lastCut = now
        roundFrom = nil
    }

    private mutating func measure(_ latency: UInt64, used: Bool, now: UInt64) {
        guard let from = roundFrom else {
            guard now.subtracting(latency) >= lastCut ?? 0 else { return }
            roundFrom = now
            roundSum = 0
            roundAnswers = 0
            return
        }
        roundSum += Double(latency)
        roundAnswers += 1
        guard roundAnswers >= Self.leastAnswers,
            Double(now.subtracting(from)) >= max(Self.leastRoundNs, latencyNs)
        else { return }
        latencyNs = roundSum / Double(roundAnswers)
        (roundFrom, roundSum, roundAnswers) = (now, 0, 0)
        baselineNs = baselineNs == 0 ? latencyNs : min(baselineNs, latencyNs)
        if used, latencyNs > max(2 * baselineNs, baselineNs + Self.latencySlackNs) {
            slowed(now)
        } else {
            trial = nil
        }
    }

    private mutating func slowed(_ now: UInt64) {
        let (limitBefore, ceilingBefore) = (limit, ceiling)
        if let began = trial, let first = began.latencyNs, limit == 1 || limit <= began.limit / 2 {
            if latencyNs > 0.75 * first {
                baselineNs = latencyNs
                limit = began.limitBefore
                ceiling = began.ceilingBefore
                trial = nil
                return
            }
            trial = nil
        }
        decrease(to: 0.9, now: now)
        ceiling = limit
        if trial == nil {
            trial = Trial(limitBefore: limitBefore, ceilingBefore: ceilingBefore, limit: limit)
        } else if trial?.latencyNs == nil {
            trial?.latencyNs = latencyNs
        }
    }
}
