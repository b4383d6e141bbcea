/// A project's quota: refilled in full every 60 seconds, counted from its first use.
struct QuotaWindow: Equatable, Sendable {
    private let limit: Int
    private var startedMs: Int64?
    private var used = 0

    static let lengthMs: Int64 = 60_000

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    /// Takes `count` messages if that many are left.
    mutating func take(_ count: Int, nowMs: Int64) -> Bool {
        if let start = startedMs {
            let passed = nowMs - start
            if passed >= Self.lengthMs || passed < 0 {
                startedMs = passed < 0 ? nowMs : start + passed / Self.lengthMs * Self.lengthMs
                used = 0
            }
        } else {
            startedMs = nowMs
        }
        guard count <= limit - used else { return false }
        used += count
        return true
    }

    /// Whole seconds until the next refill, at least 1.
    func secondsLeft(nowMs: Int64) -> Int64 {
        guard let startedMs else { return 1 }
        return max(1, (startedMs + Self.lengthMs - nowMs + 999) / 1_000)
    }
}
