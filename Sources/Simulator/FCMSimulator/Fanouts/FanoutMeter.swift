/// Times the fan-outs of one project. Active fan-outs share its rate evenly, so two at once take twice as long each.
/// Beyond ``maximumActive`` a further one is refused, or waits its turn.
struct FanoutMeter: Sendable {
    static let maximumActive = 1_000
    /// Fan-outs that may wait, if they do.
    static let maximumWaiting = 10_000

    enum Event: Equatable, Sendable {
        case started(id: UInt64, atMs: Int64)
        case finished(id: UInt64, atMs: Int64)
    }

    private struct Active: Equatable, Sendable {
        var id: UInt64
        /// The value of `served` at which its last recipient is reached.
        var end: Double
    }

    private let recipientsPerMs: Double
    private let defers: Bool
    /// In the reverse order of their ends.
    private var active: [Active] = []
    private var waiting: [(id: UInt64, recipients: Int)] = []
    /// Recipients that a fan-out would have reached if it had been active all the time.
    private var served = 0.0
    /// Milliseconds since `originMs`: a small number, whose fraction stays exact enough.
    private var elapsedMs = 0.0
    private var originMs: Int64 = 0

    /// - Parameters:
    ///   - rate: recipients a second of all the project's fan-outs together; at least 1.
    ///   - defers: a fan-out beyond ``maximumActive`` waits instead of being refused.
    init(rate: Int, defers: Bool) {
        recipientsPerMs = Double(max(1, rate)) / 1_000
        self.defers = defers
    }

    var activeCount: Int { active.count }

    /// Call ``advance(to:)`` with the same time before.
    ///
    /// - Returns: whether the fan-out was accepted, and whether it is active at once.
    mutating func add(id: UInt64, recipients: Int, nowMs: Int64) -> (isAccepted: Bool, isStarted: Bool) {
        if active.isEmpty {
            originMs = nowMs
            elapsedMs = 0
            served = 0
        }
        if active.count < Self.maximumActive {
            start(id, recipients: recipients)
            return (true, true)
        }
        guard defers, waiting.count < Self.maximumWaiting else { return (false, false) }
        waiting.append((id, recipients))
        return (true, false)
    }

    /// - Returns: the events since the last call, in their order.
    mutating func advance(to nowMs: Int64) -> [Event] {
        guard !active.isEmpty else { return [] }
        let target = max(elapsedMs, Double(nowMs &- originMs))
        var events: [Event] = []
        while let next = active.last {
            let end = elapsedMs + max(0, next.end - served) * Double(active.count) / recipientsPerMs
            // A rounding error must not cost a millisecond.
            guard end <= target + 1e-6 else {
                served += (target - elapsedMs) * recipientsPerMs / Double(active.count)
                break
            }
            active.removeLast()
            served = next.end
            elapsedMs = max(elapsedMs, min(end, target))
            let atMs = originMs + Int64((elapsedMs - 1e-6).rounded(.up))
            events.append(.finished(id: next.id, atMs: atMs))
            if !waiting.isEmpty {
                let first = waiting.removeFirst()
                start(first.id, recipients: first.recipients)
                events.append(.started(id: first.id, atMs: atMs))
            }
        }
        elapsedMs = target
        return events
    }

    private mutating func start(_ id: UInt64, recipients: Int) {
        let entry = Active(id: id, end: served + Double(max(0, recipients)))
        // Of two fan-outs that end together the older ends first.
        let place = active.firstIndex { $0.end <= entry.end } ?? active.count
        active.insert(entry, at: place)
    }
}
