/// Rate of a counter over the last five seconds, in counts per second.
struct RateMeter {
    private static let windowMs: Int64 = 5_000
    /// Minimum time between two counts for a rate.
    private static let leastMs: Int64 = 500
    private var samples: [(atMs: Int64, count: Int64)] = []

    /// - Parameter atMs: the time of Redis' clock.
    mutating func add(_ count: Int64, atMs: Int64) {
        // A count or clock that went back means that Redis lost its last seconds: start again.
        if let last = samples.last, count < last.count || atMs < last.atMs { samples = [] }
        samples.append((atMs, count))
        // Keep the newest sample before the window, as its start.
        while samples.count > 2, samples[1].atMs <= atMs - Self.windowMs { samples.removeFirst() }
    }

    /// nil without two samples far enough apart.
    var perSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.atMs - first.atMs >= Self.leastMs else {
            return nil
        }
        return Double(last.count - first.count) * 1_000 / Double(last.atMs - first.atMs)
    }
}
