/// What the deaths of its workers say of a batch. Counted apart from send attempts, and only in a row: a new result
/// recorded for the batch shows that it can be worked through.
public struct CrashTally: Equatable, Sendable {
    public enum Verdict: Equatable, Sendable {
        /// Any worker may take it over.
        case takeOver
        /// The next run is by a worker that holds nothing else.
        case runAlone
        /// It took down a worker that held nothing else: its job waits for a person.
        case park
    }

    /// Deaths in a row that make a batch a suspect.
    public static let suspectAfter = 3

    public private(set) var crashes = 0
    public private(set) var isQuarantined = false

    /// - Parameter crashes: what the recipients bring along from the batches they were in before.
    public init(crashes: Int = 0) { self.crashes = max(0, crashes) }

    /// The next run has to be by a worker that holds nothing else.
    public var isSuspect: Bool { crashes >= Self.suspectAfter }

    /// A worker holds it, and nothing else.
    public mutating func startAlone() { isQuarantined = true }

    /// Its worker gave it back in good order.
    public mutating func givenBack() { isQuarantined = false }

    /// A result was recorded that was not there before.
    public mutating func progressed() { self = CrashTally() }

    /// The worker that held it died.
    public mutating func workerDied() -> Verdict {
        crashes += 1
        if isQuarantined {
            self = CrashTally()
            return .park
        }
        return isSuspect ? .runAlone : .takeOver
    }
}
