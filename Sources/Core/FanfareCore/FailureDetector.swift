/// Judges other workers by their renew counters on this worker's own clock: a counter that did not move for a whole
/// lease belongs to a worker that is gone. No clock of another machine is asked, so no step of one can matter.
public struct FailureDetector: Sendable {
    private struct Sighting {
        var counter: String
        var since: UInt64
    }

    private let leaseNs: UInt64
    private var sightings: [String: Sighting] = [:]
    private var lastLook: UInt64?

    public init(leaseMs: Int64) { leaseNs = UInt64(max(1, leaseMs)) * 1_000_000 }

    /// - Parameters:
    ///   - counters: what Redis shows now; a worker that left is absent.
    ///   - own: this worker's name, which is never judged.
    ///   - now: nanoseconds on a clock that is never set.
    /// - Returns: the workers to declare dead, each with the counter it was last seen with.
    public mutating func observe(
        _ counters: [(worker: String, counter: String)],
        own: String,
        now: UInt64
    ) -> [Verdict] {
        // After a gap in looking (Redis was away, or this process was frozen) nobody could renew, or nobody was seen
        // renewing: what stood still then says nothing.
        if let lastLook, now - lastLook >= leaseNs / 2 { sightings = [:] }
        lastLook = now
        var seen: [String: Sighting] = [:]
        var dead: [Verdict] = []
        for (worker, counter) in counters where worker != own {
            if let before = sightings[worker], before.counter == counter {
                seen[worker] = before
                if now - before.since >= leaseNs { dead.append(Verdict(worker: worker, counter: counter)) }
            } else {
                seen[worker] = Sighting(counter: counter, since: now)
            }
        }
        sightings = seen
        return dead
    }

    public struct Verdict: Equatable, Sendable {
        public var worker: String
        public var counter: String

        public init(worker: String, counter: String) {
            self.worker = worker
            self.counter = counter
        }
    }
}
