/// How many streams a lane is trusted to carry.
///
/// libcurl does not report the server's limit. A request that it holds back while others run is the sign of a lower
/// limit: the window then shrinks to the number that runs, and later grows by one at intervals.
struct StreamWindow: Equatable {
    private static let shortestPauseMs: Int64 = 1_000
    private static let longestPauseMs: Int64 = 60_000

    let maximum: Int
    private(set) var limit: Int
    private var pauseMs: Int64 = 0
    private var nextGrowthMs = Int64.min

    init(maximum: Int, limit: Int) {
        self.maximum = max(1, maximum)
        self.limit = min(max(1, limit), self.maximum)
    }

    /// - Parameter wasFull: whether the window was used up: an idle lane learns nothing.
    mutating func answered(wasFull: Bool, nowMs: Int64) {
        guard wasFull, limit < maximum, nowMs >= nextGrowthMs else { return }
        limit += 1
        if limit == maximum { pauseMs = 0 }
    }

    /// - Parameter running: requests that the engine has begun to send.
    mutating func stalled(running: Int, nowMs: Int64) {
        limit = max(1, min(limit, running))
        pauseGrowth(nowMs)
    }

    /// The server asked for less.
    mutating func halve(nowMs: Int64) {
        limit = max(1, limit / 2)
        pauseGrowth(nowMs)
    }

    /// Doubles the pause after each overestimate.
    private mutating func pauseGrowth(_ nowMs: Int64) {
        if nowMs < nextGrowthMs { return }
        pauseMs = min(max(Self.shortestPauseMs, pauseMs * 2), Self.longestPauseMs)
        nextGrowthMs = nowMs + pauseMs
    }
}
