/// Decides how long a client waits after a failed request to one peer, and whether it repeats the request.
///
/// The wait doubles with each failure in a row. Jitter shortens it by up to a half, so that clients do not return
/// together. A `Retry-After` replaces it. Times are milliseconds of a clock that is never set.
public struct PeerBackoff: Equatable, Sendable {
    public struct Limits: Equatable, Sendable {
        /// Wait after the first failure.
        public var firstDelayMs: Int64
        public var maximumDelayMs: Int64
        /// The longest `Retry-After` that is honoured.
        public var maximumRetryAfterMs: Int64
        /// How long after its first attempt a request may be repeated; 0 means never.
        public var holdMs: Int64

        public init(
            holdMs: Int64,
            firstDelayMs: Int64 = 1_000,
            maximumDelayMs: Int64 = 30_000,
            maximumRetryAfterMs: Int64 = 300_000
        ) {
            self.holdMs = holdMs
            self.firstDelayMs = firstDelayMs
            self.maximumDelayMs = maximumDelayMs
            self.maximumRetryAfterMs = maximumRetryAfterMs
        }
    }

    public let limits: Limits
    /// Failures since the last success, at most 32.
    public private(set) var failures = 0
    /// No request is sent before this time.
    public private(set) var notBeforeMs: Int64 = 0

    public init(limits: Limits) { self.limits = limits }

    public mutating func recordSuccess() { failures = 0 }

    /// Records a failed request.
    ///
    /// - Parameters:
    ///   - retryAfterMs: the wait that the peer asked for; nil if it asked for none.
    ///   - jitter: 0 to 1, drawn for each call.
    /// - Returns: whether the request may be repeated at ``notBeforeMs``, which is within its hold time.
    public mutating func recordFailure(
        retryAfterMs: Int64?,
        firstAttemptMs: Int64,
        nowMs: Int64,
        jitter: Double
    ) -> Bool {
        failures = min(failures + 1, 32)
        let delayMs = retryAfterMs.map { min(max(0, $0), limits.maximumRetryAfterMs) } ?? delayMs(jitter: jitter)
        notBeforeMs = nowMs + delayMs
        return notBeforeMs - firstAttemptMs <= limits.holdMs
    }

    /// Forgets the failures and the wait.
    public mutating func reset() {
        failures = 0
        notBeforeMs = 0
    }

    private func delayMs(jitter: Double) -> Int64 {
        var delayMs = limits.firstDelayMs
        for _ in 1..<max(1, failures) where delayMs < limits.maximumDelayMs { delayMs *= 2 }
        delayMs = min(delayMs, limits.maximumDelayMs)
        return delayMs - Int64(Double(delayMs / 2) * min(max(0, jitter), 1))
    }
}
