/// A worker's right to send in one project, under a name that changes after each death.
///
/// Times are nanoseconds of a clock that only grows.
public struct Lease: Sendable {
    private let worker: String
    /// Grows with each name, from 1.
    public let generation: Int
    /// Stored, because every call to Redis reads it.
    public let name: String
    /// Whether the name was registered, and not declared dead since.
    public private(set) var isHeld = false
    /// Sends begin only before it.
    public private(set) var validUntil: UInt64 = 0
    /// Whether the worker holds nothing in the project, so that the lease may be renewed seldom.
    public private(set) var isResting = false
    /// Grows with the end of each rest.
    public private(set) var wakes = 0

    /// - Parameter worker: the name that all generations begin with.
    public init(worker: String) { self.init(worker: worker, generation: 1) }

    private init(worker: String, generation: Int) {
        self.worker = worker
        self.generation = generation
        name = "\(worker).\(generation)"
    }

    /// What a process's names in all projects begin with.
    static func process(of name: String) -> String { name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name }

    /// How long after a renewal sends may begin: the lease less a margin. Thanks to the margin the holder has stopped
    /// before another worker sees the lease run out.
    public static func spanNs(leaseMs: Int64, renewMs: Int64) -> UInt64 {
        UInt64(max(leaseMs - renewMs, leaseMs / 2)) * 1_000_000
    }

    /// The name was registered.
    public mutating func hold(until: UInt64) {
        wake(until: until)
        (isHeld, validUntil) = (true, until)
    }

    /// The worker holds nothing in the project.
    public mutating func rest() { isResting = isHeld }

    /// The worker is about to be given something: from now on the lease is as long as any other.
    public mutating func wake(until: UInt64) {
        guard isResting else { return }
        (isResting, wakes, validUntil) = (false, wakes + 1, min(validUntil, until))
    }

    /// Redis counts the lease as resting until later. Ignored when a rest ended since the call, after `wakes` others.
    public mutating func prolongRest(_ name: String, wakes: Int, until: UInt64) {
        if isResting, wakes == self.wakes { renew(name, until: until) }
    }

    /// Ignored when `name` is not the current one: the answer to a renewal may arrive after the lease was lost.
    public mutating func renew(_ name: String, until: UInt64) {
        if isHeld, name == self.name { validUntil = max(validUntil, until) }
    }

    /// Begins the next generation, which has to be registered before anything is sent: batches of the old name belong to
    /// other workers.
    public mutating func lose() { self = Lease(worker: worker, generation: generation + 1) }
}
