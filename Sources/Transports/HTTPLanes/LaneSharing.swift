/// Decides which lane is closed for a pool that needs one while the process can open no more files.
enum LaneSharing {
    struct Candidate: Equatable {
        var pool: Int
        var lane: Int
        var isIdle: Bool
        var openedAtMs: Int64
    }

    /// How long a pool keeps its only lane while others have none, in milliseconds.
    static let turnMs: Int64 = 1_000

    /// The lane that is closed; nil if the pool has to wait.
    ///
    /// 1. The oldest idle lane of a pool that has more lanes than `pool`.
    /// 2. For a pool without a lane: the oldest lane of the pool that has most, and more than one.
    /// 3. For a pool without a lane: the oldest lane of all, once it was open for ``turnMs``.
    ///
    /// - Parameter lanes: the lanes of all pools that carry requests or may.
    static func giver(for pool: Int, lanes: [Candidate], nowMs: Int64) -> Int? {
        let counts = Dictionary(lanes.map { ($0.pool, 1) }, uniquingKeysWith: +)
        func count(_ lane: Candidate) -> Int { counts[lane.pool, default: 0] }
        func oldest(_ lanes: [Candidate]) -> Candidate? { lanes.min { $0.openedAtMs < $1.openedAtMs } }
        let own = counts[pool, default: 0]
        let others = lanes.filter { $0.pool != pool }
        if let idle = oldest(others.filter { $0.isIdle && count($0) > own }) { return idle.lane }
        guard own == 0 else { return nil }
        let most = counts.values.max() ?? 0
        if most > 1 { return oldest(others.filter { count($0) == most })?.lane }
        return oldest(others).flatMap { nowMs - $0.openedAtMs >= turnMs ? $0.lane : nil }
    }
}
