/// Results a second over the last seconds, from counters that are looked at now and then.
struct RateMeter {
    /// How far back it looks.
    private static let windowMs: Int64 = 5_000
    /// Less time than this between two counts says nothing.
    private static let leastMs: Int64 = 500
    private var samples: [(atMs: Int64, count: Int64)] = []

    /// - Parameter atMs: of one clock, Redis' own.
    mutating func add(_ count: Int64, atMs: Int64) {
        // A count or a clock that went back belongs to another story: Redis lost its last seconds.
        if let last = samples.last, count < last.count || atMs < last.atMs { samples = [] }
        samples.append((atMs, count))
        // The newest sample outside the window stays, as the window's beginning.
        while samples.count > 2, samples[1].atMs <= atMs - Self.windowMs { samples.removeFirst() }
    }

    /// nil until there is something to go by.
    var perSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.atMs - first.atMs >= Self.leastMs else {
            return nil
        }
        return Double(last.count - first.count) * 1_000 / Double(last.atMs - first.atMs)
    }
}
