/// The fan-outs of one project: they share its rate evenly, so that two at once each take twice as long.
struct FanoutMeter: Equatable, Sendable {
    static let mostActive = 1_000
    /// Recipients a second, over all of a project's fan-outs.
    static let rate = 10_000.0

    /// Recipients that each active fan-out still has to reach.
    private var remaining: [Double] = []
    private var atMs: Int64 = 0

    mutating func active(nowMs: Int64) -> Int {
        advance(to: nowMs)
        return remaining.count
    }

    /// - Returns: how many are under way with this one, or nil when there are too many already.
    mutating func start(recipients: Int, nowMs: Int64) -> Int? {
        advance(to: nowMs)
        guard remaining.count < Self.mostActive else { return nil }
        if recipients > 0 { remaining.append(Double(recipients)) }
        return max(1, remaining.count)
    }

    private mutating func advance(to nowMs: Int64) {
        var budgetMs = Double(max(0, nowMs - atMs))
        atMs = max(atMs, nowMs)
        while budgetMs > 0, let least = remaining.min() {
            let share = Self.rate / 1_000 / Double(remaining.count)
            let step = min(budgetMs, least / share)
            // What is left of the smallest may be a rounding error away from nothing.
            remaining = remaining.map { $0 - step * share }.filter { $0 > 1e-6 }
            budgetMs -= step
            if step == 0 { break }
        }
    }
}
