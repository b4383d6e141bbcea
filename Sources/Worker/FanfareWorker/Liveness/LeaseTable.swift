internal import EventLoop
internal import FanfareCore
internal import Synchronization

/// This process's leases, one for each project. The heartbeat's thread renews them; the loop reads them before every send.
final class LeaseTable: Sendable {
    /// The worker's name and a nonce, which tells a process from its predecessor of the same name. Without it the
    /// predecessor would seem alive, and its batches would never be taken over.
    private let worker: String
    private let leases = Locked<[String: Lease]>([:])
    private let served = Locked<Set<String>>([])
    private let reports = Locked<[String: WorkerReport]>([:])
    private let connections = Locked(0)
    /// Changes of leases so far: what was read before another one may be old.
    private let changes = Atomic(0)
    private let isEachDue = Atomic(false)

    init(worker: String, nonce: UInt32) { self.worker = "\(worker).\(String(nonce, radix: 36))" }

    /// Grows with each change of a lease.
    var version: Int { changes.load(ordering: .acquiring) }

    /// The lease of a project. Its name changes after each death, because batches of the old name belong to others.
    func lease(in project: String) -> Lease { leases.withLock { $0[project] } ?? Lease(worker: worker) }

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
    var held: [(project: String, name: String, lease: Lease)] {
        leases.withLock { leases in leases.filter(\.value.isHeld).map { ($0.key, $0.value.name, $0.value) } }
    }

    /// Makes the next renewal one of every lease: the answers show what a process left that was declared dead.
    func renewEach() { isEachDue.store(true, ordering: .releasing) }

    /// Whether every lease is to be renewed now.
    func takeEachDue() -> Bool { isEachDue.exchange(false, ordering: .acquiringAndReleasing) }

    func hold(_ project: String, until: UInt64) { change(project) { $0.hold(until: until) } }

    func renewed(_ project: String, name: String, until: UInt64) { change(project) { $0.renew(name, until: until) } }

    /// The worker holds nothing in the project.
    func rest(_ project: String) { change(project) { $0.rest() } }

    /// The worker is about to be given something in the project.
    func wake(_ project: String, until: UInt64) { change(project) { $0.wake(until: until) } }

    /// - Parameter lease: the lease at the call that Redis has answered.
    func prolongRest(_ project: String, _ lease: Lease, until: UInt64) {
        change(project) { $0.prolongRest(lease.name, wakes: lease.wakes, until: until) }
    }

    func lost(_ project: String) { change(project) { $0.lose() } }

    private func change(_ project: String, _ body: (inout Lease) -> Void) {
        leases.withLock {
            body(&$0[project, default: Lease(worker: worker)])
            changes.add(1, ordering: .releasing)
        }
    }

    /// Stores what each renewal reports to the fleet.
    func setReport(_ report: WorkerReport, in project: String) { reports.withLock { $0[project] = report } }
    func report(in project: String) -> WorkerReport { reports.withLock { $0[project] ?? WorkerReport() } }
}
