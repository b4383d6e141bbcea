public import FanfareModel

/// Decides when a recipient is sent again, and when trying ends. A pure function of the attempt, the time and one random
/// number; the caller keeps the times and the count.
///
/// **The wait.** `max(floor, Retry-After, min(cap, step * 2^(attempts - 1)))`, and a jitter on top of it. The step is
/// 10 s, or the retry's floor if that is longer. The jitter is a random part of the backoff: recipients that failed
/// together do not come back together. The wait is never shorter than Retry-After or the floor.
///
/// A backoff is never longer than the time since the first attempt and one step more. The reason: attempts that crashes
/// cut short count, too, and come in quick succession.
///
/// **Attempts that never reached FCM** (`unsent`, `refused`) back off shortly instead: from their own floor, up to
/// ``shortCapMs``. They wait as long as since the first try, because an unsent try is not counted.
///
/// **The end of trying** is the earliest of: 60 minutes after the first attempt; the job's `expires_at`; the message's
/// own lifetime, counted from the first attempt. A wait that would reach it ends the trying now (so does a Retry-After
/// past it); only the jitter is shortened to stay before it. One that ``Retry/waitsForExpiry`` waits for an expiry instead,
/// and has its result then. The result is:
/// - the last attempt was unanswered: ``RetryDecision/unknown(_:)``, whatever ended the trying;
/// - `expires_at` or the lifetime came first: ``RetryDecision/expired``;
/// - the 60 minutes came first: ``RetryDecision/giveUp(_:)`` with the failure of the last attempt, which is
///   `TRANSPORT` when it never reached FCM.
///
/// **The message's lifetime** does not run before an attempt counts. A lifetime of 0 allows one attempt that may have
/// been looked at: an unsent or a refused one is tried again, any other is the last.
public struct RetryPolicy: Equatable, Sendable {
    /// The least wait after an answer, in milliseconds.
    public var baseMs: Int64
    /// The longest backoff, in milliseconds; Retry-After and floors may be longer.
    public var capMs: Int64
    /// The longest backoff of attempts that never reached FCM, in milliseconds.
    public var shortCapMs: Int64
    /// How long one recipient is tried, in milliseconds from its first attempt.
    public var triesEndMs: Int64
    /// Cuts the floors of retries, in milliseconds. FCM asks for each floor, so only a simulator may cut them.
    public var maximumFloorMs = Int64.max

    /// All values in milliseconds; negative ones count as 0.
    public init(
        baseMs: Int64 = 10_000,
        capMs: Int64 = 600_000,
        shortCapMs: Int64 = 30_000,
        triesEndMs: Int64 = 3_600_000
    ) {
        self.baseMs = max(0, baseMs)
        self.capMs = max(0, capMs)
        self.shortCapMs = max(0, shortCapMs)
        self.triesEndMs = max(0, triesEndMs)
    }

    /// Decides on a recipient whose attempt ended with `retry`.
    ///
    /// - Parameters:
    ///   - attempts: attempts that count, this one included if it does.
    ///   - firstAttemptMs: the first attempt that counts, in the project's time; while there is none, the first try of
    ///     any kind. It must not move with every try, or trying never ends.
    ///   - nowMs: in the project's time.
    ///   - lifetimeMs: the message's own lifetime; nil when it sets none.
    ///   - expiresAtMs: in the project's time; 0 when there is none.
    ///   - random: 0 up to, not including, 1.
    public func decide(
        _ retry: Retry,
        attempts: Int,
        firstAttemptMs: Int64,
        nowMs: Int64,
        lifetimeMs: Int64?,
        expiresAtMs: Int64,
        random: Double
    ) -> RetryDecision {
        var retry = retry
        retry.floorMs = min(retry.floorMs, maximumFloorMs)
        let backoff = backoffMs(retry, attempts: attempts, elapsedMs: nowMs.subtracting(firstAttemptMs))
        let wait = max(backoff, retry.floorMs, retry.retryAfterMs ?? 0)
        let end = endOfTrying(
            retry,
            attempts: attempts,
            firstAttemptMs: firstAttemptMs,
            lifetimeMs: lifetimeMs,
            expiresAtMs: expiresAtMs
        )
        let due = nowMs.adding(wait)
        guard due < end.atMs else {
            if retry.cause == .unanswered { return .unknown(retry.failure) }
            guard end.isExpiry else { return .giveUp(retry.failure) }
            return retry.waitsForExpiry && nowMs < end.atMs ? .wait(untilMs: end.atMs) : .expired
        }
        let room = min(backoff, end.atMs.subtracting(due) - 1)
        return .wait(untilMs: due.adding(part(random, of: room)))
    }

    private func backoffMs(_ retry: Retry, attempts: Int, elapsedMs: Int64) -> Int64 {
        switch retry.cause {
        case .unsent, .refused:
            return min(shortCapMs, max(0, retry.floorMs, elapsedMs))
        case .answered, .unanswered:
            let step = max(baseMs, retry.floorMs)
            // Beyond 62 doublings every step is past any cap; a shift by more would lose the number.
            let doublings = Int64(min(max(1, attempts) - 1, 62))
            let (doubled, overflow) = step.multipliedReportingOverflow(by: 1 << doublings)
            let most = step.adding(max(0, elapsedMs))
            return overflow ? min(capMs, most) : min(capMs, doubled, most)
        }
    }

    private func endOfTrying(
        _ retry: Retry,
        attempts: Int,
        firstAttemptMs: Int64,
        lifetimeMs: Int64?,
        expiresAtMs: Int64
    ) -> (atMs: Int64, isExpiry: Bool) {
        var end = (atMs: firstAttemptMs.adding(triesEndMs), isExpiry: false)
        if expiresAtMs > 0, expiresAtMs <= end.atMs { end = (expiresAtMs, true) }
        if let lifetimeMs, lifetimeRuns(retry, attempts: attempts, lifetimeMs: lifetimeMs) {
            let over = firstAttemptMs.adding(max(0, lifetimeMs))
            if over <= end.atMs { end = (over, true) }
        }
        return end
    }

    /// An attempt that FCM may have looked at starts the lifetime, whatever the count says. With a lifetime of 0 an
    /// earlier one would have ended the trying, so there only this one decides.
    private func lifetimeRuns(_ retry: Retry, attempts: Int, lifetimeMs: Int64) -> Bool {
        switch retry.cause {
        case .unsent, .refused: return lifetimeMs > 0 && attempts > 0
        case .answered, .unanswered: return true
        }
    }

    private func part(_ random: Double, of range: Int64) -> Int64 {
        guard range > 0, random > 0 else { return 0 }
        let product = (random * Double(range)).rounded(.down)
        return product < Double(range) ? Int64(product) : range
    }
}

/// The outcome of an attempt that may be repeated.
public enum RetryDecision: Equatable, Sendable {
    /// Send again, not before this time, in the project's time.
    case wait(untilMs: Int64)
    /// Final, status `expired`.
    case expired
    /// Final, status `failed`.
    case giveUp(Failure)
    /// Final, status `unknown`: the last attempt was not answered.
    case unknown(Failure)
}
