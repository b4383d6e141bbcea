public import FanfareModel

/// Limits how many sends of this worker are in flight to FCM, and how many of them are retries. It learns from every
/// answer, so that an outage is not hammered and a recovering service is not flooded.
///
/// All times are nanoseconds on a clock that is never set.
public struct AdaptiveSendLimit: Sendable {
    private var concurrency: ConcurrencyLimit
    private var throttle: AdaptiveThrottle
    private var retries: RetryBudget
    private var overloadedAt: UInt64?

    /// How long overloaded batches come after the others when FCM had no capacity.
    private static let overloadBackoffNs: UInt64 = 5_000_000_000

    /// - Parameters:
    ///   - maximumInFlight: the limit that the operator set.
    ///   - retryPercent: see ``RetryBudget``.
    public init(maximumInFlight: Int, retryPercent: Int) {
        concurrency = ConcurrencyLimit(maximum: maximumInFlight)
        throttle = AdaptiveThrottle(maximumInFlight: maximumInFlight)
        retries = RetryBudget(percent: retryPercent)
    }

    /// Requests that may be in flight at once.
    public var limit: Int { concurrency.limit }

    /// Whether more than a tenth of the last answers were signs of overload.
    var isOverloaded: Bool { concurrency.isOverloaded }

    /// Whether FCM had no capacity in the last seconds. One sign of overload does not count; a share of them does.
    public func wasOverloaded(now: UInt64) -> Bool {
        overloadedAt.map { now < $0 + Self.overloadBackoffNs } ?? false
    }

    /// Retries that may be claimed now.
    public mutating func retryRoom(now: UInt64) -> Int { retries.room(now: now) }

    /// Whether one more request may begin; false while FCM refuses most of what it gets.
    public func maySend(now: UInt64) -> Bool { throttle.available(now: now) > 0 }

    /// When ``maySend(now:)`` may be true again.
    public func nextAt(now: UInt64) -> UInt64 { throttle.nextAt(now: now) ?? now }

    /// Counts a request that begins.
    public mutating func sent(isRetry: Bool, now: UInt64) {
        _ = throttle.spend(now: now)
        retries.sent(isRetry: isRetry, now: now)
    }

    /// Learns from the answer to a request. A cut answer is a sign of overload whatever it says: the next ones may be cut
    /// too, and each holds memory until it is.
    ///
    /// - Parameters:
    ///   - isCut: whether only a part of the answer arrived.
    ///   - inFlight: requests in flight when the answer came, its own included.
    public mutating func answered(
        _ verdicts: [Verdict],
        isCut: Bool = false,
        startedNs: UInt64,
        inFlight: Int,
        now: UInt64
    ) {
        // A request that never left says nothing about FCM.
        guard !verdicts.allSatisfy(\.isUnsent) else { return }
        let isOverload = isCut || verdicts.contains(where: \.isOverload)
        if !isOverload { throttle.accepted() }
        concurrency.answered(
            latencyNs: now - min(now, startedNs),
            inFlight: inFlight,
            now: now,
            isOverload: isOverload
        )
        if isOverload, concurrency.isOverloaded { overloadedAt = now }
    }
}

extension Verdict {
    fileprivate var isUnsent: Bool {
        if case .retry(let retry) = self { return retry.cause == .unsent }
        return false
    }

    /// Whether FCM, or the network, had too much to do. A rate that concerns one device or topic says nothing of the
    /// rest.
    var isOverload: Bool {
        switch self {
        case .retry(let retry):
            switch retry.scope {
            case .device, .topic: false
            case .project: true
            case .recipient: retry.cause != .unsent
            }
        case .unknown: true
        case .sent, .sentPartly, .managed, .listed, .failed, .refreshCredential, .blockProject: false
        }
    }
}
