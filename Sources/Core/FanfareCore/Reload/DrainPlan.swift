internal import FanfareModel

/// Decides when a project that is being drained is closed, and when the log says why it is not.
///
/// Before the deadline it waits for everything. After it, only for results, which would be lost with the project.
/// Recipients of a request without an answer are then in doubt. Entries that were not handed over stay in the stream.
public struct DrainPlan: Sendable {
    /// What a project waits for.
    public struct Pending: Equatable, Sendable {
        /// Requests in flight.
        public var requests = 0
        /// Whether a claim is not answered.
        public var isClaiming = false
        /// Whether entries of the job stream are being handed over.
        public var isHandingOver = false
        /// Whether Redis has not confirmed every result and retry.
        public var hasUnwrittenResults = false

        public init() {}

        public var isNothing: Bool { self == Pending() }

        /// For the log.
        public var names: [String] {
            var names: [String] = []
            if requests > 0 { names.append("answers of FCM") }
            if isClaiming { names.append("a claim") }
            if isHandingOver { names.append("hand-overs of entries") }
            if hasUnwrittenResults { names.append("results to be confirmed") }
            return names
        }
    }

    public enum Step: Equatable, Sendable {
        case wait
        /// Continue to wait, and log that Redis does not confirm results: at the deadline, and once a minute.
        case warn
        /// - Parameter isLate: the project still waits for something other than results.
        case close(isLate: Bool)
    }

    private let deadline: UInt64
    private var warnings = LogThrottle(seconds: 60)

    /// - Parameter deadline: nanoseconds on a clock that is never set, as everywhere here.
    public init(deadline: UInt64) { self.deadline = deadline }

    public mutating func next(_ pending: Pending, now: UInt64) -> Step {
        if pending.isNothing { return .close(isLate: false) }
        guard now >= deadline else { return .wait }
        guard pending.hasUnwrittenResults else { return .close(isLate: true) }
        return warnings.admits(now: now) ? .warn : .wait
    }
}
