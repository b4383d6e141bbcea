internal import StreamWire

/// Whether a project runs a quarantined batch, or waits to, and until when. ``SendMachine`` draws the states.
struct ProjectQuarantine {
    enum State: Equatable {
        case none
        /// It lets go of its batches, and asks for an exclusive quarantine when it holds none. May follow: waiting, none.
        case emptying
        /// It has asked the process' ``QuarantineGate`` for this mode. May follow: held, none.
        case waiting(QuarantineMode)
        /// It claims quarantined batches, one at a time, and runs them. May follow: none.
        case held(QuarantineMode)
    }

    private(set) var state = State.none
    /// Whether other projects wait for this one's quarantined batch.
    private var isExclusive = false
    /// When the quarantined batch gives way to other projects, which wait for it; nanoseconds.
    private var endsNs = UInt64.max
    /// Whether the quarantined batch was given back because a guard delays it.
    private var isYielding = false
    /// Before this time no quarantine begins: the worker's other batches may be what the guard waits for; nanoseconds.
    private var beginsNs: UInt64 = 0

    /// How long a guard may delay a batch before it yields, and how long the worker then runs other batches.
    static let yieldNs: UInt64 = 2_000_000_000

    /// How long other projects wait for a batch that is alone, after its fourth death; twice as long after each further one.
    private static let exclusiveNs: UInt64 = 10_000_000_000

    /// Whether quarantined batches may be sent.
    var isHeld: Bool { if case .held = state { true } else { false } }

    mutating func empty() { state = .emptying }

    mutating func wait(for mode: QuarantineMode) {
        state = .waiting(mode)
        endsNs = .max
    }

    /// The gate lets the project run quarantined batches.
    ///
    /// - Returns: false if the project does not wait for that any more.
    mutating func begin(_ mode: QuarantineMode) -> Bool {
        guard case .waiting(let wanted) = state else { return false }
        state = .held(mode)
        isExclusive = wanted == .exclusive
        return true
    }

    /// Limits how long other projects wait, if they do.
    ///
    /// - Parameter crashes: workers that died while they held the batch.
    mutating func limit(crashes: Int, now: UInt64) {
        if isExclusive { endsNs = now + Self.exclusiveNs << min(max(0, crashes - 4), 6) }
    }

    /// Whether the quarantined batch has to give way to other projects.
    func isOver(now: UInt64) -> Bool { isHeld && now >= endsNs }

    /// A guard delays the quarantined batch, which is given back.
    mutating func yield() { isYielding = true }

    /// Whether a quarantine may begin.
    func mayBegin(now: UInt64) -> Bool { now >= beginsNs }

    /// - Returns: whether the gate has to be told.
    mutating func leave(now: UInt64) -> Bool {
        defer {
            if isYielding { beginsNs = now + Self.yieldNs }
            isYielding = false
            state = .none
            endsNs = .max
        }
        return state != .none && state != .emptying
    }
}
