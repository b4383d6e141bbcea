/// Decides when to report a condition that lasts: when it has lasted for its patience, once a minute, and when it is over.
public struct ConditionNotice: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case warn
        /// The condition is over, after a warning.
        case recover
    }

    private let patienceNs: UInt64
    private var since: UInt64?
    private var nextWarning: UInt64?

    private static let repeatNs: UInt64 = 60_000_000_000

    /// - Parameter patienceSeconds: how long the condition lasts before the first warning.
    public init(patienceSeconds: UInt64) { patienceNs = patienceSeconds * 1_000_000_000 }

    /// - Parameter now: nanoseconds of a clock that only grows.
    public mutating func observe(_ holds: Bool, now: UInt64) -> Action? {
        guard holds else {
            defer { (since, nextWarning) = (nil, nil) }
            return nextWarning == nil ? nil : .recover
        }
        let since = since ?? now
        self.since = since
        guard now >= nextWarning ?? (since + patienceNs) else { return nil }
        nextWarning = now + Self.repeatNs
        return .warn
    }
}
