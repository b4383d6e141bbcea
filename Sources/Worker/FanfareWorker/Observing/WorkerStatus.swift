internal import EventLoop
internal import Synchronization

/// What a worker says of itself while it runs, for whoever watches it. Any thread may ask.
public final class WorkerStatus: Sendable {
    /// One project, as this worker sees it.
    public struct Project: Equatable, Sendable {
        public var id: String
        /// Its credentials let this worker send.
        public var canSend: Bool
        /// Why nothing of it is sent; `ready` when nothing stands in the way.
        public var state: String
    }

    public struct Snapshot: Equatable, Sendable {
        /// `starting`, `connected`, or why Redis is not there.
        public var redis = "starting"
        /// Redis answers, and has Fanfare's functions.
        public var isConnected = false
        public var isDraining = false
        public var projects: [Project] = []

        /// The worker can do what it is there for: Redis is at hand and at least one project's credentials work.
        public var isReady: Bool { isConnected && !isDraining && projects.contains(where: \.canSend) }
    }

    private let snapshot = Mutex(Snapshot())
    private let turnedAt: Atomic<UInt64>

    init() { turnedAt = Atomic(EventLoop.readClock()) }

    public var current: Snapshot { snapshot.withLock { $0 } }

    /// Milliseconds since the worker's loop last said that it turns, which it does four times a second. Counted from the
    /// start where it has not begun yet; time in which the machine sleeps does not count.
    public var silentMs: Int64 {
        let now = EventLoop.readClock()
        return Int64((now - min(now, turnedAt.load(ordering: .relaxed))) / 1_000_000)
    }

    func turned(at now: UInt64) { turnedAt.store(now, ordering: .relaxed) }
    func update(_ new: Snapshot) { snapshot.withLock { $0 = new } }
}
