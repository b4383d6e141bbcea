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

/// Logs the first event of a burst, then the number of others in each interval, so that 100,000 events give some lines.
///
/// States: closed; open, from a logged event until an interval passes without another event.
public struct BurstLog: Equatable, Sendable {
    private var isOpen = false
    private var omitted = 0

    public init() {}

    /// Records an event.
    ///
    /// - Returns: whether to log it and to call ``endInterval()`` after an interval; false: it is counted.
    public mutating func record() -> Bool {
        if isOpen {
            omitted += 1
            return false
        }
        isOpen = true
        return true
    }

    /// Ends an interval.
    ///
    /// - Returns: the number of events that were counted since the last call. If it is not 0, log it and call this again
    ///   after another interval.
    public mutating func endInterval() -> Int {
        defer { omitted = 0 }
        isOpen = omitted > 0
        return omitted
    }
}
