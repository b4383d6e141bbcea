/// Decides which workers are dead: the workers whose renew counter did not move for a whole lease on this worker's own
/// clock. No other machine's clock is read, so a step of one does not matter.
public struct FailureDetector: Sendable {
    private struct Sighting {
        var counter: String
        var since: UInt64
    }

    private let leaseNs: UInt64
    private var sightings: [String: Sighting] = [:]
    private var lastObservation: UInt64?

    public init(leaseMs: Int64) { leaseNs = UInt64(max(1, leaseMs)) * 1_000_000 }

    /// - Parameters:
    ///   - counters: what Redis shows now; a worker that left is absent.
    ///   - own: this worker's name, which is never declared dead.
    ///   - now: nanoseconds on a clock that is never set.
    /// - Returns: the workers to declare dead, each with its last renew counter.
    public mutating func observe(
        _ counters: [(worker: String, counter: String)],
        own: String,
        now: UInt64
    ) -> [(worker: String, counter: String)] {
        // After a gap (Redis was away, or this process was frozen) unmoved counters prove nothing.
        if let lastObservation, now - lastObservation >= leaseNs / 2 { sightings = [:] }
        lastObservation = now
        var seen: [String: Sighting] = [:]
        var dead: [(worker: String, counter: String)] = []
        for (worker, counter) in counters where worker != own {
            if let before = sightings[worker], before.counter == counter {
                seen[worker] = before
                if now - before.since >= leaseNs { dead.append((worker, counter)) }
            } else {
                seen[worker] = Sighting(counter: counter, since: now)
            }
        }
        sightings = seen
        return dead
    }
}
