/// Decides how long no claim and no send begins on a primary that has taken over.
///
/// A worker leaves the old primary within about a second, and has to write its results before another worker claims the
/// same recipients. Times are nanoseconds of a clock that only grows.
public struct FailoverPause: Sendable {
    private var endsAt: UInt64 = 0

    public init() {}

    public static let lengthNs: UInt64 = 3_000_000_000

    /// Begins the pause if a new connection is to another server. A reconnection to the same one does not end the
    /// pause.
    public mutating func connected(isSameServer: Bool, now: UInt64) {
        if !isSameServer { endsAt = now + Self.lengthNs }
    }

    /// 0 when sends and claims may begin.
    public func remainingNs(now: UInt64) -> UInt64 { endsAt > now ? endsAt - now : 0 }
}
