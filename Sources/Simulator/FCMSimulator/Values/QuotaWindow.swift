/// A quota that is refilled in full at the end of each window, counted from its first use.
struct QuotaWindow: Equatable, Sendable {
    /// The use of one window.
    struct Use: Equatable, Sendable {
        var startedMs: Int64
        var used = 0
        var refused = 0
    }

    static let minuteMs: Int64 = 60_000
    /// Earlier windows that are remembered.
    static let maximumPast = 100

    let limit: Int
    private let lengthMs: Int64
    private var current: Use?
    private var past: [Use] = []

    init(limit: Int, lengthMs: Int64 = minuteMs) {
        self.limit = max(0, limit)
        self.lengthMs = lengthMs
    }

    /// Oldest first; the open window is the last.
    var uses: [Use] { past.suffix(Self.maximumPast) + (current.map { [$0] } ?? []) }

    /// Uses `count` of the quota if so much is left.
    mutating func consume(_ count: Int, nowMs: Int64) -> Bool {
        var use = window(nowMs)
        defer { current = use }
        guard count <= limit - use.used else {
            use.refused += count
            return false
        }
        use.used += count
        return true
    }

    /// Uses `count` of the quota, or as much as is left; returns how much was used.
    mutating func consume(upTo count: Int, nowMs: Int64) -> Int {
        var use = window(nowMs)
        defer { current = use }
        let taken = max(0, min(count, limit - use.used))
        use.used += taken
        use.refused += count - taken
        return taken
    }

    /// Takes back a use of the current window.
    mutating func restore(_ count: Int) {
        guard let used = current?.used else { return }
        current?.used = max(0, used - count)
    }

    /// Whole seconds until the next refill, at least 1.
    func secondsLeft(nowMs: Int64) -> Int64 {
        guard let current else { return 1 }
        return max(1, (current.startedMs + lengthMs - nowMs + 999) / 1_000)
    }

    private mutating func window(_ nowMs: Int64) -> Use {
        guard let use = current else { return Use(startedMs: nowMs) }
        let passed = nowMs - use.startedMs
        guard passed >= lengthMs || passed < 0 else { return use }
        past.append(use)
        if past.count > 2 * Self.maximumPast { past.removeFirst(past.count - Self.maximumPast) }
        return Use(startedMs: passed < 0 ? nowMs : use.startedMs + passed / lengthMs * lengthMs)
    }
}
