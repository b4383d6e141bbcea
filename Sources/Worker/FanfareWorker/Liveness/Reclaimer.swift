internal import EventLoop
internal import FanfareCore
internal import Logging
internal import StreamWire

/// Declares silent workers dead, which frees their batches, and takes over entries that they read and did not hand over.
/// ``FailureDetector`` and ``ReclaimPlan`` decide; this class calls Redis.
final class Reclaimer {
    private let project: ProjectContext
    private let intake: Intake
    private let claimer: Claimer
    private var detector: FailureDetector
    private var plan = ReclaimPlan()
    /// Called when a worker was declared dead by this one, with its name and the number of batches that were freed.
    var onLost: (_ worker: String, _ batches: Int64) -> Void = { _, _ in }

    init(project: ProjectContext, intake: Intake, claimer: Claimer) {
        self.project = project
        self.intake = intake
        self.claimer = claimer
        // A holder begins no send in the last renewal interval of its lease, so half an interval before the end is late
        // enough. The observation after it is then within the lease and two seconds.
        let configuration = project.configuration
        detector = FailureDetector(
            leaseMs: configuration.leaseMs - configuration.renewMs / 2,
            restMs: configuration.restLeaseMs
        )
    }

    /// See ``FailureDetector/suspect(_:)``.
    func suspect(_ process: String) { detector.suspect(process) }

    /// - Parameter counters: the renew counters of all workers in the project.
    func observe(_ counters: [(worker: String, counter: String)]) {
        project.knowsCompactJobs = counters.allSatisfy { FunctionLibrary.knowsCompactJobs($0.counter) }
        for dead in detector.observe(counters, own: project.leaseName, now: SystemClock.bootNs) {
            free(dead)
        }
    }

    /// Frees the batches of a dead worker, in several calls where it held many.
    private func free(_ dead: (worker: String, counter: String)) {
        project.redis.send(
            FunctionLibrary.declareDead(project.keys, worker: dead.worker, counter: dead.counter)
        ) { [weak self] result in
            guard let self, case .success(let value) = result, let freed = value.integer, freed >= 0 else { return }
            onLost(dead.worker, freed)
            claimer.claim(afterMs: 0)
            if freed >= FunctionLibrary.mostFreed { free(dead) }
        }
    }

    /// Whether entries that a dead reader left are being taken over.
    var isClaiming: Bool { plan.isWaiting }

    /// Takes over entries that are idle for a whole lease in another consumer's list. Their hand-over says `gone` when
    /// that consumer was merely slow.
    func claimEntries() { handle(.due(intake.demand)) }

    private func handle(_ event: ReclaimPlan.Event) {
        var actions: [ReclaimPlan.Action] = []
        plan.handle(event, into: &actions)
        for action in actions {
            switch action {
            case .claim(let cursor, let count): claim(from: cursor, count)
            case .wait(let milliseconds):
                project.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
                    guard let self, !project.isDraining else { return }
                    handle(.waited(intake.demand))
                }
            case .leftoversFound: intake.leftoversFound()
            }
        }
    }

    private func claim(from cursor: String, _ count: Int) {
        let command = JobStream.autoclaim(
            project.keys,
            worker: project.configuration.name,
            minIdleMs: project.configuration.leaseMs,
            start: cursor,
            count: count
        )
        project.redis.send(command) { [weak self] result in
            guard let self, case .success(let value) = result, let parts = value.array, parts.count >= 2 else { return }
            if parts.count > 2, let lost = parts[2].array, !lost.isEmpty {
                project.logger.error(
                    "Entries were deleted from the job stream while they were pending.",
                    metadata: ["count": "\(lost.count)"]
                )
            }
            let count = parts[1].array?.count ?? 0
            handle(.answered(cursor: parts[0].string ?? "0-0", count: count))
        }
    }
}
