internal import EventLoop
internal import FanfareCore
internal import FanfareModel

/// How many sends this worker may have under way to FCM, and how many of them may be retries: it learns from every
/// answer, so that an outage is not hammered and a recovering service is not flooded.
final class AdaptiveSendLimit {
    private let loop: EventLoop
    private var concurrency: ConcurrencyLimit
    private var accepts: AdaptiveThrottle
    private var retries: RetryBudget

    init(loop: EventLoop, configuration: WorkerConfiguration) {
        self.loop = loop
        concurrency = ConcurrencyLimit(maximum: configuration.maxInFlight)
        accepts = AdaptiveThrottle(maximumInFlight: configuration.maxInFlight)
        retries = RetryBudget(percent: configuration.retryPercent)
    }

    /// Requests that may be under way at once.
    var limit: Int { concurrency.limit }

    /// Whether more than a tenth of the last answers were signs of overload.
    var isOverloaded: Bool { concurrency.isOverloaded }

    /// Recipients that were sent to before and may be taken for another try now.
    func retryRoom() -> Int { retries.room(now: loop.now) }

    /// Whether one more request may begin; false while FCM refuses most of what it gets.
    var mayTake: Bool { accepts.available(now: loop.now) > 0 }

    func take() { _ = accepts.take(now: loop.now) }

    /// Loop time at which ``mayTake`` may be true again.
    var nextAt: UInt64 { accepts.nextAt(now: loop.now) ?? loop.now }

    func sent(isRetry: Bool) { retries.sent(isRetry: isRetry, now: loop.now) }

    func answered(_ verdicts: AnswerVerdicts, startedAt: UInt64, inFlight: Int) {
        // A send that never left says nothing of FCM.
        guard verdicts.sent > 0 || !verdicts.others.allSatisfy(\.verdict.isUnsent) else { return }
        let isOverload = verdicts.others.contains(where: \.verdict.isOverload)
        if !isOverload { accepts.accepted() }
        concurrency.answered(
            latencyNs: loop.now - min(loop.now, startedAt),
            inFlight: inFlight,
            now: loop.now,
            isOverload: isOverload
        )
    }
}

extension Verdict {
    fileprivate var isUnsent: Bool {
        if case .retry(let retry) = self { return retry.cause == .unsent }
        return false
    }

    /// FCM, or the way there, had too much to do. A rate that concerns one device or topic says nothing of the rest.
    var isOverload: Bool {
        switch self {
        case .retry(let retry):
            switch retry.scope {
            case .device, .topic: return false
            case .project: return true
            case .recipient: return retry.cause != .unsent
            }
        case .unknown: return true
        case .sent, .sentPartly, .managed, .failed, .refreshCredential, .blockProject: return false
        }
    }
}
