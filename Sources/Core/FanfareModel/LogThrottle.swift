/// Admits one log line in each interval, so that a failure that repeats does not fill the log.
public struct LogThrottle: Equatable, Sendable {
    private let intervalNs: UInt64
    private var nextNs: UInt64 = 0

    public init(seconds: UInt64) { intervalNs = seconds * 1_000_000_000 }

    /// True for the first call, and for the first one after each interval. A refused call does not prolong it.
    ///
    /// - Parameter now: nanoseconds of a clock that is never set.
    public mutating func admits(now: UInt64) -> Bool {
        guard now >= nextNs else { return false }
        nextNs = now &+ intervalNs
        return true
    }

    /// Admits the next call, whenever it comes: the condition that was logged has ended.
    public mutating func reset() { nextNs = 0 }
}
