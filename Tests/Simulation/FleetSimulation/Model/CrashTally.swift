/// Counts the workers in a row that died while they held a batch, apart from send attempts. A new result recorded for the
/// batch ends the row.
struct CrashTally: Equatable, Sendable {
    enum Consequence: Equatable, Sendable {
        /// Any worker may take it over.
        case takeOver
        /// The next run is by a worker that holds nothing else.
        case runAlone
        /// It took down a worker that held nothing else: its job waits for a person.
        case park
    }

    /// Deaths in a row that make a batch a suspect.
    static let suspectAfter = 3

    private(set) var crashes = 0
    private(set) var isQuarantined = false

    /// - Parameter crashes: what the recipients bring along from the batches they were in before.
    init(crashes: Int = 0) { self.crashes = max(0, crashes) }

    /// The next run has to be by a worker that holds nothing else.
    var isSuspect: Bool { crashes >= Self.suspectAfter }

    /// A worker holds it, and nothing else.
    mutating func startAlone() { isQuarantined = true }

    /// Its worker gave it back in good order.
    mutating func givenBack() { isQuarantined = false }

    /// A result was recorded that was not there before.
    mutating func progressed() { self = CrashTally() }

    /// The worker that held it died.
    mutating func workerDied() -> Consequence {
        crashes += 1
        if isQuarantined {
            self = CrashTally()
            return .park
        }
        return isSuspect ? .runAlone : .takeOver
    }
}
