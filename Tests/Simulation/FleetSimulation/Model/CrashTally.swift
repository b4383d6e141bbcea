internal import StreamWire

/// Counts consecutive crashes of workers that held a batch, independent of send attempts. A new result of the batch
/// resets the count.
struct CrashTally: Equatable, Sendable {
    enum Consequence: Equatable, Sendable {
        /// Any worker may take the batch over.
        case takeOver
        /// The next worker must hold no other batch.
        case quarantine
        /// The batch crashed a process that had nothing else in flight: its job waits for an operator.
        case park
    }

    /// Consecutive crashes after which a batch is a suspect.
    static let suspectAfter = 3

    private(set) var crashes = 0
    /// The process of the holder has nothing else in flight.
    private(set) var isAlone = false
    /// The last holder gave the batch back while it was alone.
    private(set) var isSpared = false

    /// - Parameter crashes: the crashes that its recipients carry from their earlier batches.
    init(crashes: Int = 0) { self.crashes = max(0, crashes) }

    /// Whether the next worker must hold no other batch.
    var isSuspect: Bool { crashes >= Self.suspectAfter }

    /// The mode of a suspect's quarantine.
    var mode: QuarantineMode { crashes > Self.suspectAfter && !isSpared ? .exclusive : .shared }

    /// Records that a worker holds this batch.
    mutating func taken(isAlone: Bool) { self.isAlone = isAlone }

    /// Records that the holder released the batch.
    mutating func released() {
        isSpared = isSpared || isAlone
        isAlone = false
    }

    /// Records a new result.
    mutating func progressed() { self = CrashTally() }

    /// Records that the holder died.
    mutating func workerDied() -> Consequence {
        crashes += 1
        isSpared = false
        if isAlone {
            self = CrashTally()
            return .park
        }
        return isSuspect ? .quarantine : .takeOver
    }
}
