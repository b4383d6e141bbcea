internal import EventLoop
internal import Synchronization

/// A worker's state while it runs, for probes and status pages. Any thread may read it.
public final class WorkerStatus: Sendable {
    /// One project, as this worker sees it.
    public struct Project: Equatable, Sendable {
        public var id: String
        /// The credentials of the project work.
        public var canSend: Bool
        /// The worker holds a lease in the project and does not drain it: without a lease no send begins.
        public var holdsLease: Bool
        /// Why the project does not send; `ready` if sends may begin.
        public var state: String
    }

    public struct Snapshot: Equatable, Sendable {
        /// `starting`, `connected`, or why Redis cannot be used.
        public var redis = "starting"
        /// Redis answers, and has Fanfare's functions.
        public var isConnected = false
        public var isDraining = false
        public var projects: [Project] = []

        /// The worker can send: Redis is connected, and in at least one project the worker holds a lease and its
        /// credentials work. So a worker without projects is not ready.
        public var isReady: Bool {
            isConnected && !isDraining && projects.contains { $0.canSend && $0.holdsLease }
        }
    }

    private let snapshot = Mutex(Snapshot())
    private let turnedAt: Atomic<UInt64>

    init() { turnedAt = Atomic(SystemClock.bootNs) }

    public var current: Snapshot { snapshot.withLock { $0 } }

    /// Milliseconds since the worker's loop last reported a turn, which it does four times a second, or since the start.
    /// Time in which the machine sleeps does not count.
    public var silentMs: Int64 {
        let now = SystemClock.bootNs
        return Int64((now - min(now, turnedAt.load(ordering: .relaxed))) / 1_000_000)
    }

    func turned(at now: UInt64) { turnedAt.store(now, ordering: .relaxed) }
    func update(_ new: Snapshot) { snapshot.withLock { $0 = new } }
}
