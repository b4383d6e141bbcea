/// Decides until when nothing begins on a primary that has taken over.
///
/// Each worker leaves the old primary within about a second. What it sent meanwhile has to be handed in before another
/// worker claims the same recipients, or they get an unflagged second copy. Times are nanoseconds of a clock that only
/// grows.
struct FailoverPause {
    private var endsAt: UInt64 = 0

    static let lengthNs: UInt64 = 3_000_000_000

    /// A connection is new. One that is lost and made again during the pause does not end it.
    mutating func connected(isSameServer: Bool, now: UInt64) {
        if !isSameServer { endsAt = now + Self.lengthNs }
    }

    /// 0 when sends and claims may begin.
    func remainingNs(now: UInt64) -> UInt64 { endsAt > now ? endsAt - now : 0 }
}
