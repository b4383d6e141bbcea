/// Counts of the open jobs of a project that wait for an operator or for a time. No job counts twice.
public struct RestingJobs: Equatable, Sendable {
    /// Stopped by their `stop_if`.
    public var stoppedByCondition: Int64 = 0
    /// Stopped because FCM refuses their message.
    public var stoppedByMessage: Int64 = 0
    /// Waiting after their canary.
    public var atCanary: Int64 = 0
    /// Paused by an operator.
    public var paused: Int64 = 0
    /// Before their `not_before`.
    public var scheduled: Int64 = 0
    /// Outside their send window.
    public var closed: Int64 = 0

    public init() {}

    init(_ fields: NamedValues) {
        stoppedByCondition = fields.count("stopped_by_stop_if")
        stoppedByMessage = fields.count("stopped_by_message")
        atCanary = fields.count("stopped_by_canary")
        paused = fields.count("jobs_paused")
        scheduled = fields.count("jobs_scheduled")
        closed = fields.count("jobs_closed")
    }

    /// Jobs that stopped themselves.
    public var stopped: Int64 { stoppedByCondition + stoppedByMessage }

    public var all: Int64 { stopped + atCanary + paused + scheduled + closed }

    /// All of them, such as `1 job stopped itself, 2 paused, 1 scheduled`; nil without one.
    public var text: String? { Self.text(pausedParts + [(scheduled, "scheduled"), (closed, "outside a send window")]) }

    /// The jobs that only an operator or the end of a canary's wait continues; nil without one.
    public var pausedText: String? { Self.text(pausedParts) }

    private var pausedParts: [(Int64, String)] {
        let itself = stopped == 1 ? "stopped itself" : "stopped themselves"
        return [(stopped, itself), (atCanary, "at a canary"), (paused, "paused")]
    }

    private static func text(_ parts: [(Int64, String)]) -> String? {
        let parts = parts.filter { $0.0 > 0 }
        guard let first = parts.first else { return nil }
        let rest = parts.dropFirst().map { "\($0.0) \($0.1)" }
        return (["\(first.0) \(first.0 == 1 ? "job" : "jobs") \(first.1)"] + rest).joined(separator: ", ")
    }
}
