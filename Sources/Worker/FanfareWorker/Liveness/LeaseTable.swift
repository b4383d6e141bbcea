internal import EventLoop

/// This process's leases, one a project: written by the heartbeat's thread, asked before every send by the loop.
final class LeaseTable: Sendable {
    private struct Lease {
        let generation: Int
        /// Nanoseconds since boot; sends begin only before it.
        var validUntil: UInt64 = 0
        var isHeld = false
        /// What ``LeaseTable/name(in:)`` answers: asked with every call to Redis.
        let name: String

        init(of worker: String, generation: Int = 1) {
            self.generation = generation
            name = "\(worker).\(generation)"
        }
    }

    /// The worker's name and a part that no other process has: one that is started again under the same name must not
    /// be taken for its predecessor, whose batches nobody would take over then.
    private let worker: String
    private let leases = Locked<[String: Lease]>([:])
    private let loads = Locked<[String: Int]>([:])

    init(worker: String, nonce: UInt32) { self.worker = "\(worker).\(String(nonce, radix: 36))" }

    /// The name this process goes by in a project. A new one after it was declared dead, because the old name's
    /// batches belong to others now.
    func name(in project: String) -> String {
        leases.withLock { $0[project]?.name } ?? Lease(of: worker).name
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

    /// Sends under way, as the loop has counted them last: said of this worker with each renewal, for people.
    func note(inFlight count: Int, in project: String) { loads.withLock { $0[project] = count } }
    func inFlight(in project: String) -> Int { loads.withLock { $0[project] ?? 0 } }

    func validUntil(_ project: String) -> UInt64 { leases.withLock { $0[project]?.validUntil ?? 0 } }
}
