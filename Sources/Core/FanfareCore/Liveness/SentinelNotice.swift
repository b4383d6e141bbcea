/// Decides when to report that too few Sentinels confirm the primary in use: after five seconds, then once a minute.
public struct SentinelNotice: Sendable {
    public enum Action: Equatable {
        case warn
        /// A majority confirms the primary again, after a warning.
        case recover
    }

    private var unconfirmedSince: UInt64?
    private var nextWarning: UInt64?

    public init() {}

    private static let patienceNs: UInt64 = 5_000_000_000
    private static let repeatNs: UInt64 = 60_000_000_000

    /// - Parameter now: nanoseconds of a clock that only grows.
    public mutating func observe(isConfirmed: Bool, now: UInt64) -> Action? {
        guard !isConfirmed else {
            defer { self = SentinelNotice() }
            return nextWarning == nil ? nil : .recover
        }
        let since = unconfirmedSince ?? now
        unconfirmedSince = since
        guard now >= nextWarning ?? (since + Self.patienceNs) else { return nil }
        nextWarning = now + Self.repeatNs
        return .warn
    }
}
