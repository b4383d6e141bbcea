/// Counts consecutive crashes of workers that held a batch, independent of send attempts. A new result of the batch
/// resets the count.
struct CrashTally: Equatable, Sendable {
    enum Consequence: Equatable, Sendable {
        /// Any worker may take the batch over.
        case takeOver
        /// The next worker must hold no other batch.
        case quarantine
        /// The batch crashed a worker that held no other batch: its job waits for an operator.
        case park
    }

    /// Consecutive crashes after which a batch is a suspect.
    static let suspectAfter = 3

    private(set) var crashes = 0
    private(set) var isQuarantined = false

    /// - Parameter crashes: the crashes that its recipients carry from their earlier batches.
    init(crashes: Int = 0) { self.crashes = max(0, crashes) }

    /// Whether the next worker must hold no other batch.
    var isSuspect: Bool { crashes >= Self.suspectAfter }

    /// Records that a worker holds this batch and no other.
    mutating func startQuarantine() { isQuarantined = true }

    /// Records that the holder released the batch.
    mutating func released() { isQuarantined = false }

    /// Records a new result.
    mutating func progressed() { self = CrashTally() }

    /// Records that the holder died.
    mutating func workerDied() -> Consequence {
        crashes += 1
        if isQuarantined {
            self = CrashTally()
            return .park
        }
        return isSuspect ? .quarantine : .takeOver
    }
}
