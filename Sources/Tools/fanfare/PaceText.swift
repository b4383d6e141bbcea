/// Rates and durations for people.
enum PaceText {
    static func rate(_ perSecond: Double) -> String {
        guard perSecond.isFinite, perSecond < 1e12 else { return "-" }
        if perSecond >= 10 { return "\(Int(perSecond.rounded()))/s" }
        let tenths = Int((perSecond * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)/s"
    }

    /// Such as `12 s`, `3 min 20 s`, `2 h 5 min` or `4 d`: two parts at most, since it is an estimate.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, (0..<1e10).contains(seconds) else { return "-" }
        let whole = Int(seconds.rounded(.up))
        let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { whole >= $0.0 }) else { return "0 s" }
        var text = "\(whole / units[first].0) \(units[first].1)"
        if first + 1 < units.count {
            let rest = whole % units[first].0 / units[first + 1].0
            if rest > 0 { text += " \(rest) \(units[first + 1].1)" }
        }
        return text
    }
}

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
