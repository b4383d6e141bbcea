/// Leave for management as one worker holds it: asked for in blocks, good for a moment only.
///
/// What is granted has been taken from every worker's share, so a block is asked for as large as it is needed: leave
/// that adds up from parts runs out while the last part is still being waited for.
public struct ManagementRateLimiter: Equatable, Sendable {
    public enum Decision: Equatable, Sendable {
        case go
        /// Leave for so many operations is to be asked for.
        case ask(Int)
    }

    /// Operations asked for at once where each is a request of its own: a thirtieth of a second's share.
    public static let block = 100
    /// Nanoseconds. What was not used at once would meet what others were given later.
    public static let goodForNs: UInt64 = 100_000_000

    private var granted = 0
    private var grantedAt: UInt64 = 0

    public init() {}

    /// Takes leave for so many operations, all or none.
    ///
    /// - Parameters:
    ///   - ahead: operations that are waiting, these included.
    ///   - now: nanoseconds of a clock that is never set.
    public mutating func take(_ count: Int, ahead: Int, now: UInt64) -> Decision {
        if now > grantedAt, now - grantedAt > Self.goodForNs { granted = 0 }
        // The remainder of an earlier block lapses: to add to it would stretch what it is good for.
        guard granted >= count else { return .ask(max(count, min(ahead, Self.block))) }
        granted -= count
        return .go
    }

    /// - Parameter now: nanoseconds of the same clock.
    public mutating func grant(_ count: Int, now: UInt64) {
        granted = count
        grantedAt = now
    }
}
