/// Slows sends during an outage, down to ``tokensPerSecond`` a second when all of them fail.
///
/// A token bucket: a send costs one token, and an answer that is no overload returns ``tokensPerAnswer``. So sends are
/// not slowed while at least half of the answers are good, and after an outage the rate doubles with each round trip.
/// This is the client-side throttling of Google's SRE book with K = 2.
///
/// Overload is a 429, a 5xx, a timeout, a refused stream or a broken connection. Any other answer is good, errors of the
/// message or the recipient too.
struct AdaptiveThrottle: Sendable {
    /// Tokens that come whatever the answers are.
    static let tokensPerSecond = 10
    /// Tokens that a good answer gives back.
    static let tokensPerAnswer = 2

    /// Tokens are counted in nanoseconds of refill, so that no fraction is lost.
    private static let tokenNs = 1_000_000_000 / UInt64(tokensPerSecond)
    private static let maximumTokens = 1_000_000_000

    /// The most tokens there can be: a burst of so many sends is possible after a quiet time.
    let capacity: Int

    private var credit: UInt64
    private var refilledAt: UInt64?

    /// Starts full.
    ///
    /// - Parameter maximumInFlight: the most sends in flight. The capacity is twice that, 100 to a billion, so that one
    ///   round of failures does not stop the sends.
    init(maximumInFlight: Int) {
        let inFlight = min(max(50, maximumInFlight), Self.maximumTokens / 2)
        capacity = 2 * inFlight
        credit = UInt64(capacity) * Self.tokenNs
    }

    /// Whole tokens at nanosecond `now`.
    func available(now: UInt64) -> Int { Int(credit(at: now) / Self.tokenNs) }

    /// Pays for one send.
    ///
    /// - Parameter now: nanoseconds on a clock that is never set.
    /// - Returns: false, and nothing paid, if no token is left.
    mutating func spend(now: UInt64) -> Bool {
        credit = credit(at: now)
        refilledAt = max(now, refilledAt ?? now)
        guard credit >= Self.tokenNs else { return false }
        credit -= Self.tokenNs
        return true
    }

    /// An answer came that is no overload.
    mutating func accepted() {
        credit = min(full, credit + UInt64(Self.tokensPerAnswer) * Self.tokenNs)
    }

    /// When the next send may begin if no good answer comes before, in nanoseconds; nil if it may begin now.
    func nextAt(now: UInt64) -> UInt64? {
        let credit = credit(at: now)
        return credit >= Self.tokenNs ? nil : now.adding(Self.tokenNs - credit)
    }

    private var full: UInt64 { UInt64(capacity) * Self.tokenNs }

    private func credit(at now: UInt64) -> UInt64 {
        guard let refilledAt, now > refilledAt else { return credit }
        return min(full, credit.adding(now - refilledAt))
    }
}
