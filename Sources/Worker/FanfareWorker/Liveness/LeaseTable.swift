internal import EventLoop

/// This process's leases, one for each project. The heartbeat's thread renews them; the loop reads them before every send.
final class LeaseTable: Sendable {
    private struct Lease {
        let generation: Int
        /// Nanoseconds since boot; sends begin only before it.
        var validUntil: UInt64 = 0
        var isHeld = false
        /// Stored, because every call to Redis reads it.
        let name: String

        init(of worker: String, generation: Int = 1) {
            self.generation = generation
            name = "\(worker).\(generation)"
        }
    }

    /// The worker's name and a nonce, which tells a process from its predecessor of the same name. Without it the
    /// predecessor would seem alive, and its batches would never be taken over.
    private let worker: String
    private let leases = Locked<[String: Lease]>([:])
    private let served = Locked<Set<String>>([])
    private let reports = Locked<[String: WorkerReport]>([:])
    private let connections = Locked(0)

    init(worker: String, nonce: UInt32) { self.worker = "\(worker).\(String(nonce, radix: 36))" }

    /// This process's name in a project. It changes after each death, because batches of the old name belong to others.
    func name(in project: String) -> String {
        leases.withLock { $0[project]?.name } ?? Lease(of: worker).name
    }

    /// The number of a new connection to Redis, higher than every earlier one of the process: a project that is opened again
    /// may have the name of the runner before it, whose late calls are then refused and not its own.
    func nextConnection() -> Int {
        connections.withLock {
            $0 += 1
            return $0
        }
    }

    /// The projects that the worker serves or drains: the heartbeat has a connection for each of them in a cluster.
    var projects: Set<String> { served.withLock { $0 } }

    func open(_ project: String) { served.withLock { _ = $0.insert(project) } }

    /// The generation stays: a name of the project never comes back.
    func close(_ project: String) {
        lost(project)
        served.withLock { _ = $0.remove(project) }
        reports.withLock { $0[project] = nil }
    }

    /// The heartbeat renews only what has been registered.
    var held: [(project: String, name: String)] {
        leases.withLock { leases in
            leases.filter(\.value.isHeld).map { ($0.key, $0.value.name) }
        }
    }

    func hold(_ project: String, until: UInt64) {
        leases.withLock { leases in
            leases[project, default: Lease(of: worker)].isHeld = true
            leases[project]?.validUntil = until
        }
    }

    /// Ignored when `name` is not the current one: the answer to a renewal may arrive after the lease was lost.
    func renewed(_ project: String, name: String, until: UInt64) {
        leases.withLock { leases in
            guard let lease = leases[project], lease.isHeld, lease.name == name else { return }
            leases[project]?.validUntil = max(lease.validUntil, until)
        }
    }

    /// Begins a new generation, which has to be registered before anything is sent.
    func lost(_ project: String) {
        leases.withLock { leases in
            let generation = leases[project]?.generation ?? 1
            leases[project] = Lease(of: worker, generation: generation + 1)
        }
    }

    /// Stores what each renewal reports to the fleet.
    func setReport(_ report: WorkerReport, in project: String) { reports.withLock { $0[project] = report } }
    func report(in project: String) -> WorkerReport { reports.withLock { $0[project] ?? WorkerReport() } }

    func validUntil(_ project: String) -> UInt64 { leases.withLock { $0[project]?.validUntil ?? 0 } }
}
