internal import EventLoop
internal import FanfareCore
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Finds workers that are gone, frees their batches, and takes entries over that they read and never handed on.
final class Reclaimer {
    private let project: ProjectContext
    private let intake: Intake
    private var watch: FailureDetector
    private var cursor = "0-0"

    /// Called when batches were freed.
    var onFreed: () -> Void = {}

    init(project: ProjectContext, intake: Intake) {
        self.project = project
        self.intake = intake
        // A holder begins nothing after its lease less a renewal, so half a renewal before the end is late enough, and
        // leaves the look that comes next within the lease and two seconds.
        let configuration = project.configuration
        watch = FailureDetector(leaseMs: configuration.leaseMs - configuration.renewMs / 2)
    }

    func observe(_ counters: [(worker: String, counter: String)]) {
        let dead = watch.observe(counters, own: project.leaseName, now: SystemClock.bootNs)
        for verdict in dead {
            project.redis.send(
                FunctionLibrary.bury(project.keys, worker: verdict.worker, counter: verdict.counter)
            ) { [weak self] result in
                guard let self, case .success(let value) = result, let freed = value.integer, freed >= 0 else { return }
                project.logger.warning(
                    "A worker is gone; its batches are taken over.",
                    metadata: ["worker": "\(verdict.worker)", "batches": "\(freed)"]
                )
                onFreed()
            }
        }
    }

    /// There are more entries of others to be claimed.
    private(set) var isAskingAgain = false

    private func askAgain() {
        guard !isAskingAgain, !project.isDraining else { return }
        isAskingAgain = true
        project.loop.schedule(afterMilliseconds: 20) { [weak self] in
            guard let self else { return }
            isAskingAgain = false
            if mayClaim { claimEntries() } else { askAgain() }
        }
    }

    /// Not before those that were claimed last are being read: other workers have room, too.
    private var mayClaim: Bool { intake.demand.room > 0 && !intake.hasLeftovers }

    /// Entries idle for a whole lease in another consumer's list. Only a hint: the hand-over itself decides, and says
    /// `gone` when their reader was merely slow.
    func claimEntries() {
        guard mayClaim, project.redis.state == .ready, !project.isDraining else { return }
        let command = JobStream.autoclaim(
            project.keys,
            worker: project.configuration.name,
            minIdleMs: project.configuration.leaseMs,
            start: cursor,
            count: min(64, intake.demand.room)
        )
        project.redis.send(command) { [weak self] result in
            guard let self, case .success(let value) = result, let parts = value.array, parts.count >= 2 else { return }
            cursor = parts[0].string ?? "0-0"
            let count = parts[1].array?.count ?? 0
            if parts.count > 2, let lost = parts[2].array, !lost.isEmpty {
                project.logger.error(
                    "Entries were deleted from the job stream while they were pending.",
                    metadata: ["count": "\(lost.count)"]
                )
            }
            if count > 0 { intake.leftoversFound() }
            // A consumer that died with thousands of entries must not be emptied by a handful a lease.
            if count >= 32 || cursor != "0-0" { askAgain() }
        }
    }
}
