internal import StreamWire

/// Decides which workers are dead: the workers whose renew counter did not move for a whole lease on this worker's own
/// clock. No other machine's clock is read, so a step of one does not matter. A resting lease is longer; see
/// ``Lease/isResting``.
public struct FailureDetector: Sendable {
    private struct Sighting {
        var counter: String
        var since: UInt64
    }

    private let leaseNs: UInt64
    private let restNs: UInt64
    /// Processes that were declared dead in another project.
    private var suspects: Set<String> = []
    private var sightings: [String: Sighting] = [:]
    private var lastObservation: UInt64?

    /// - Parameter restMs: the length of a resting lease.
    public init(leaseMs: Int64, restMs: Int64 = .max / 1_000_000) {
        leaseNs = UInt64(max(1, leaseMs)) * 1_000_000
        restNs = UInt64(max(leaseMs, restMs)) * 1_000_000
    }

    /// A process was declared dead in another project: at the next observation its resting lease is over, too. It holds
    /// nothing, so that a wrong suspicion costs no more than a registration.
    ///
    /// - Parameter process: what its names in all projects begin with, before the last point.
    public mutating func suspect(_ process: String) { suspects.insert(process) }

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
        let isResting = counters.contains { $0.worker == own && FunctionLibrary.isResting($0.counter) }
        if let lastObservation, now - lastObservation >= (isResting ? restNs : leaseNs) / 2 { sightings = [:] }
        lastObservation = now
        var seen: [String: Sighting] = [:]
        var dead: [(worker: String, counter: String)] = []
        for (worker, counter) in counters where worker != own {
            let rests = FunctionLibrary.isResting(counter)
            if rests, suspects.contains(Lease.process(of: worker)) {
                dead.append((worker, counter))
            } else if let before = sightings[worker], before.counter == counter {
                seen[worker] = before
                if now - before.since >= (rests ? restNs : leaseNs) { dead.append((worker, counter)) }
            } else {
                seen[worker] = Sighting(counter: counter, since: now)
            }
        }
        (sightings, suspects) = (seen, [])
        return dead
    }
}
