/// Limits the sends that a worker has in flight. Additive increase and multiplicative decrease let every worker find its
/// share of FCM's capacity without asking the others.
///
/// **Growth.** The limit grows while at least half of it is in flight: by one per good answer below a ceiling, by one
/// per `limit` good answers above it. There is no ceiling before the first decrease; then it is where the last decrease
/// led. A decrease right after another keeps the ceiling: an outage says nothing about capacity.
///
/// **Overload** (429, 5xx, a timeout, a refused stream). Once it is more than a tenth of the last answers, the limit is
/// multiplied by 0.7, at most once per round trip and per 100 ms. Sends that began before the last decrease do not
/// count. A smaller share is the fault of single recipients and changes nothing.
///
/// **Rising latency.** While the mean of a round trip is above twice the baseline and more than 200 ms above it, the
/// limit is multiplied by 0.9 per round trip and does not grow. The baseline is the least mean seen. If half the
/// concurrency has not shortened the answers by a quarter, the delay is not this worker's queue: the mean becomes the
/// baseline, and the limit returns to its value before.
struct ConcurrencyLimit: Sendable {
    /// Never more than this.
    let maximum: Int
    /// Sends that may be in flight now; 1 or more.
    private(set) var limit: Int

    private static let leastRoundNs = 100_000_000.0
    private static let leastAnswers = 10
    private static let latencySlackNs = 200_000_000.0
    /// Sample size for the overload share. In a smaller sample, chance alone exceeds a tenth.
    private static let shareSpan = 200.0
    /// Growth since a decrease below which the next one belongs to the same overload.
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
    /// nil while answers are to sends that began before the last decrease.
    private var roundFrom: UInt64?
    private var roundSum = 0.0
    private var roundAnswers = 0
    private var trial: Trial?

    /// A row of decreases for latency.
    private struct Trial {
        var limitBefore: Int
        var ceilingBefore: Int
        /// The limit after the first decrease.
        var limit: Int
        /// The mean of the first round trip under that limit: before it, latency did not show the growth yet.
        var latencyNs: Double?
    }

    /// - Parameters:
    ///   - maximum: what connections and streams can carry; at least 1.
    ///   - initial: where to begin; 100, the streams of one connection, unless the maximum is less.
    init(maximum: Int, initial: Int = 100) {
        self.maximum = max(1, maximum)
        limit = min(max(1, initial), self.maximum)
        ceiling = self.maximum
    }

    /// Learns from one answer, or from the lack of one.
    ///
    /// - Parameters:
    ///   - latencyNs: from the beginning of the send to its outcome.
    ///   - inFlight: sends in flight when the outcome came, this one included.
    ///   - now: nanoseconds on a clock that is never set.
    ///   - isOverload: 429, 5xx, a timeout or a refused stream. Errors of the message or the recipient are good answers.
    ///     Sends that never left are not reported.
    mutating func answered(latencyNs: UInt64, inFlight: Int, now: UInt64, isOverload: Bool) {
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
    var isOverloaded: Bool { overloadShare > 0.1 }

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
        var isSameOverload = false
        if let lastCut {
            let gap = max(Self.leastRoundNs, latencyNs)
            guard sentAt >= lastCut, Double(now.subtracting(lastCut)) >= gap else { return }
            isSameOverload = grownSinceCut < Self.littleGrowth
        }
        trial = nil
        decrease(to: 0.7, now: now)
        if !isSameOverload { ceiling = limit }
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
