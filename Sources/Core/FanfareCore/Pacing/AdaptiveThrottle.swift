/// The brake for an outage: sends cost more than failures bring in, so a worker whose sends are all refused comes down
/// to ``tokensPerSecond`` a second, which is what keeps looking whether FCM is back.
///
/// Every send takes one token, and every answer that is no overload gives ``tokensPerAnswer`` back: while at least
/// half of the answers are good, sending is not slowed. This is the client-side throttling of Google's SRE book with
/// K = 2, kept as a bucket. When FCM is back each good answer pays for two sends, so the rate doubles from one round
/// trip to the next instead of leaping to where it was.
///
/// Overload is what the server says when it is too busy or does not say at all: 429, 5xx, a timeout, a refused stream, a
/// connection that broke. Any other answer is good here, errors of the message or the recipient too.
public struct AdaptiveThrottle: Sendable {
    /// Tokens that come whatever the answers are.
    public static let tokensPerSecond = 10
    /// Tokens that a good answer gives back.
    public static let tokensPerAnswer = 2

    /// A token is counted as the nanoseconds in which one comes by itself, so that no part of one is lost.
    private static let tokenNs = 1_000_000_000 / UInt64(tokensPerSecond)
    private static let mostTokens = 1_000_000_000

    /// The most tokens there can be: a burst of so many sends is possible after a quiet time.
    public let capacity: Int

    private var credit: UInt64
    private var refilledAt: UInt64?

    /// Starts full.
    ///
    /// - Parameter maximumInFlight: the most sends this worker has under way at once. The capacity is twice that, at
    ///   least 100 and at most a milliard, so that one round of failures alone does not stop the sending.
    public init(maximumInFlight: Int) {
        let inFlight = min(max(50, maximumInFlight), Self.mostTokens / 2)
        capacity = 2 * inFlight
        credit = UInt64(capacity) * Self.tokenNs
    }

    /// Whole tokens that a ``take(now:)`` would find, at nanosecond `now`.
    public func available(now: UInt64) -> Int { Int(credit(at: now) / Self.tokenNs) }

    /// Pays for one send.
    ///
    /// - Parameter now: nanoseconds on a clock that is never set.
    /// - Returns: whether the send may go; if not, nothing was taken.
    public mutating func take(now: UInt64) -> Bool {
        credit = credit(at: now)
        refilledAt = max(now, refilledAt ?? now)
        guard credit >= Self.tokenNs else { return false }
        credit -= Self.tokenNs
        return true
    }

    /// An answer came that is no overload.
    public mutating func accepted() {
        credit = min(full, credit + UInt64(Self.tokensPerAnswer) * Self.tokenNs)
    }

    /// When the next send may go if no good answer comes before; nil: it may go now. Nanoseconds, as `now`.
    public func nextAt(now: UInt64) -> UInt64? {
        let credit = credit(at: now)
        return credit >= Self.tokenNs ? nil : now.adding(Self.tokenNs - credit)
    }

    private var full: UInt64 { UInt64(capacity) * Self.tokenNs }

    private func credit(at now: UInt64) -> UInt64 {
        guard let refilledAt, now > refilledAt else { return credit }
        return min(full, credit.adding(now - refilledAt))
    }
}
