/// Which lane takes the next requests, and when one more lane is opened.
struct LanePlanner: Equatable {
    struct View: Equatable {
        var room: Int
        var inFlight: Int
        var limit: Int
        var isOpening: Bool
    }

    struct Plan: Equatable {
        /// In order of the queue.
        var assignments: [Assignment] = []
        /// Lanes to open.
        var open = 0
    }

    struct Assignment: Equatable {
        /// The lane's index.
        var lane: Int
        /// Requests that it gets.
        var count: Int
    }

    /// Lanes fill in steps of this many streams, so that a turn's work falls on few lanes, and yet a lane whose
    /// server has gone quiet is soon passed over.
    static let step = 16
    /// Handshakes at the same time at most.
    static let openingsAtOnce = 4

    let maximumLanes: Int
    let maximumStreams: Int
    /// Streams that a new lane begins with, learned from the lanes before it.
    private(set) var learned: Int
    private var failures = 0
    private(set) var nextOpeningMs = Int64.min

    init(maximumLanes: Int, maximumStreams: Int) {
        self.maximumLanes = max(1, maximumLanes)
        self.maximumStreams = max(1, maximumStreams)
        learned = self.maximumStreams
    }

    /// The level of a lane is its streams in whole steps: the lowest level goes first, in order of age.
    func plan(queued: Int, lanes: [View], nowMs: Int64) -> Plan {
        var plan = Plan()
        var lanes = lanes
        var left = queued
        while left > 0 {
            var best: Int?
            for index in lanes.indices where lanes[index].room > 0 {
                if let found = best, lanes[index].inFlight / Self.step >= lanes[found].inFlight / Self.step { continue }
                best = index
            }
            guard let best else { break }
            let count = min(left, lanes[best].room, Self.step - lanes[best].inFlight % Self.step)
            lanes[best].room -= count
            lanes[best].inFlight += count
            left -= count
            if plan.assignments.last?.lane == best {
                plan.assignments[plan.assignments.count - 1].count += count
            } else {
                plan.assignments.append(Assignment(lane: best, count: count))
            }
        }
        plan.open = openings(for: left, lanes: lanes, nowMs: nowMs)
        return plan
    }

    /// Streams that lanes not yet opened would add.
    func unopened(lanes: Int, nowMs: Int64) -> Int {
        nowMs >= nextOpeningMs ? max(0, maximumLanes - lanes) * learned : 0
    }

    /// A lane answered, and carries this many streams.
    mutating func raiseLimit(to limit: Int) {
        failures = 0
        learned = max(learned, min(limit, maximumStreams))
    }

    /// A lane was found to carry no more than this.
    mutating func lowerLimit(to limit: Int) { learned = min(learned, max(1, limit)) }

    /// A lane that never answered makes the next one wait: 100 ms, doubling to 5 s. One that refused more than it
    /// answered halves the limit of new lanes.
    mutating func closed(answered: Int, refused: Int, nowMs: Int64) {
        if refused > answered { learned = max(1, learned / 2) }
        if answered > 0 {
            failures = 0
        } else {
            failures = min(failures + 1, 7)
            nextOpeningMs = nowMs + min(5_000, 50 << Int64(failures))
        }
    }

    private func openings(for waiting: Int, lanes: [View], nowMs: Int64) -> Int {
        guard waiting > 0, nowMs >= nextOpeningMs else { return 0 }
        // A server that allows no stream on one connection would allow none on the next.
        guard !lanes.contains(where: { !$0.isOpening && $0.limit == 0 }) else { return 0 }
        let opening = lanes.filter(\.isOpening)
        let expected = opening.reduce(0) { $0 + max(0, $1.limit - $1.inFlight) }
        guard waiting > expected else { return 0 }
        let wanted = (waiting - expected + learned - 1) / learned
        // After a failure one lane is tried before the others.
        let atOnce = failures > 0 ? 1 : Self.openingsAtOnce
        return max(0, min(wanted, atOnce - opening.count, maximumLanes - lanes.count))
    }
}
