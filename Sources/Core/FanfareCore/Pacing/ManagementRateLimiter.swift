/// The operations on topics and groups that Redis granted to this worker: requested in blocks, valid for a moment only.
///
/// A block is as large as it is needed: grants that add up from parts would lapse while the last part is awaited.
struct ManagementRateLimiter: Equatable, Sendable {
    enum Decision: Equatable, Sendable {
        case go
        /// Request a grant for so many operations.
        case request(Int)
        /// A grant was requested.
        case wait
    }

    /// Operations in a block where each is a request of its own: a thirtieth of a second's share.
    static let block = 100
    /// How long a grant is valid, in nanoseconds: later it would add to the grants of other workers.
    static let validNs: UInt64 = 100_000_000

    private var granted = 0
    private var grantedAt: UInt64 = 0
    private var isRequesting = false

    /// Spends a grant for so many operations, all or none.
    ///
    /// - Parameters:
    ///   - ahead: operations that wait, these included.
    ///   - now: nanoseconds of a clock that is never set.
    mutating func spend(_ count: Int, ahead: Int, now: UInt64) -> Decision {
        if now > grantedAt, now - grantedAt > Self.validNs { granted = 0 }
        // The rest of an earlier block lapses: an addition would prolong it.
        guard granted >= count else {
            defer { isRequesting = true }
            return isRequesting ? .wait : .request(max(count, min(ahead, Self.block)))
        }
        granted -= count
        return .go
    }

    /// - Parameter now: nanoseconds of the same clock.
    mutating func grant(_ count: Int, now: UInt64) {
        isRequesting = false
        granted = count
        grantedAt = now
    }
}
