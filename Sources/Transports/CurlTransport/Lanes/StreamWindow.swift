/// How many streams a lane is trusted to carry.
///
/// libcurl does not say what the server allows. A body that is not asked for while others run is the sign of a lower
/// limit; the window then shrinks to what runs, and later tries one more now and then.
struct StreamWindow: Equatable {
    private static let shortestHoldMs: Int64 = 1_000
    private static let longestHoldMs: Int64 = 60_000

    let maximum: Int
    private(set) var limit: Int
    private var holdMs: Int64 = 0
    private var holdUntilMs = Int64.min

    init(maximum: Int, limit: Int) {
        self.maximum = max(1, maximum)
        self.limit = min(max(1, limit), self.maximum)
    }

    /// - Parameter wasFull: whether the window was used up: an idle lane learns nothing.
    mutating func answered(wasFull: Bool, nowMs: Int64) {
        guard wasFull, limit < maximum, nowMs >= holdUntilMs else { return }
        limit += 1
        if limit == maximum { holdMs = 0 }
    }

    /// - Parameter running: streams whose body was asked for.
    mutating func stalled(running: Int, nowMs: Int64) {
        limit = max(1, min(limit, running))
        hold(nowMs)
    }

    /// The server asked for less.
    mutating func halve(nowMs: Int64) {
        limit = max(1, limit / 2)
        hold(nowMs)
    }

    /// Each mistake makes the next try later.
    private mutating func hold(_ nowMs: Int64) {
        if nowMs < holdUntilMs { return }
        holdMs = min(max(Self.shortestHoldMs, holdMs * 2), Self.longestHoldMs)
        holdUntilMs = nowMs + holdMs
    }
}
