internal import FanfareCore

/// Decides when one signal, spans or metrics, is sent to the collector, sent again, or given up.
///
/// At most one request is in flight. After a failure nothing is sent until the backoff is over, so a dead collector
/// costs one request per backoff. Times are milliseconds of a clock that is never set.
struct ExportMachine: Equatable, Sendable {
    struct Limits: Equatable, Sendable {
        /// Longest time between two requests while there is something to send.
        var intervalMs: Int64
        /// How long after its first attempt a request may be sent again; 0 means never.
        var holdMs: Int64
    }

    /// What waits to be sent, apart from a request that is held for another attempt.
    enum Backlog: Equatable, Sendable {
        case none
        /// Something, for the next interval.
        case some
        /// A whole request, for now.
        case full
    }

    enum Action: Equatable, Sendable {
        /// Build a request from the backlog and send it.
        case send
        /// Send the held request again.
        case resend
    }

    enum Answer: Equatable, Sendable {
        case accepted
        /// The collector will not take this request, however often it is sent.
        case refused
        /// The collector is overloaded or out of reach. `retryAfterMs` is its own word on when to come back.
        case unavailable(retryAfterMs: Int64?)
    }

    /// What becomes of the request that was answered.
    enum Verdict: Equatable, Sendable {
        case exported
        case failed
        /// Keep it for ``Action/resend``.
        case hold
    }

    let limits: Limits
    private(set) var isInFlight = false
    private(set) var isHolding = false
    private(set) var isDraining = false
    private var backoff: PeerBackoff
    private var firstAttemptMs: Int64 = 0
    private var dueMs: Int64

    init(limits: Limits, nowMs: Int64) {
        self.limits = limits
        backoff = PeerBackoff(limits: .init(holdMs: limits.holdMs))
        dueMs = nowMs + limits.intervalMs
    }

    /// Failures since the last success.
    var failures: Int { backoff.failures }

    /// The next action, if one is due. The caller performs it, and reports its end to ``ended(_:nowMs:jitter:)``.
    mutating func poll(_ backlog: Backlog, nowMs: Int64) -> Action? {
        guard !isInFlight, nowMs >= backoff.notBeforeMs, !(isDraining && failures > 0) else { return nil }
        if isHolding {
            isInFlight = true
            return .resend
        }
        guard backlog == .full || backlog == .some && (isDraining || nowMs >= dueMs) else { return nil }
        isInFlight = true
        firstAttemptMs = nowMs
        dueMs = nowMs + limits.intervalMs
        return .send
    }

    /// There was nothing to build a request from after all.
    mutating func withdrawn() { isInFlight = false }

    /// - Parameter jitter: 0 to 1, drawn for each call. It spreads the workers of a fleet over half the backoff.
    mutating func ended(_ answer: Answer, nowMs: Int64, jitter: Double) -> Verdict {
        isInFlight = false
        isHolding = false
        guard answer != .accepted else {
            backoff.recordSuccess()
            return .exported
        }
        var retryAfterMs: Int64?
        if case .unavailable(let wait) = answer { retryAfterMs = wait }
        let mayRepeat = backoff.recordFailure(
            retryAfterMs: retryAfterMs,
            firstAttemptMs: firstAttemptMs,
            nowMs: nowMs,
            jitter: jitter
        )
        isHolding = mayRepeat && answer != .refused && !isDraining
        return isHolding ? .hold : .failed
    }

    /// Sends what there is without waiting for an interval or a backoff, and ends at the first failure.
    mutating func drain() {
        isDraining = true
        backoff.reset()
    }

    /// Whether a drain has ended: everything was sent, or a request failed.
    func isDrained(_ backlog: Backlog) -> Bool {
        isDraining && !isInFlight && (failures > 0 || backlog == .none && !isHolding)
    }
}
