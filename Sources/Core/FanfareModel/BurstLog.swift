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
