/// Decides when the log says that FCM holds a project's sends, and when it says that this is over: a line each, however many
/// answers ask for the hold and however often they extend it.
public struct HoldNotice: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case begin
        /// - Parameters:
        ///   - heldMs: from the begin to the end of the last hold.
        ///   - endedNs: when the last hold ended.
        case end(heldMs: Int64, endedNs: UInt64)
    }

    /// Nanoseconds on a clock that is never set.
    private var since: UInt64?
    private var until: UInt64 = 0

    /// A hold that begins so soon after another one continues it.
    static let quietNs: UInt64 = 5_000_000_000

    public init() {}

    /// - Parameter heldUntil: no send begins before this time, nanoseconds; in the past for none.
    public mutating func observe(heldUntil: UInt64, now: UInt64) -> Action? {
        guard now < heldUntil else {
            guard let since, now >= until.adding(Self.quietNs) else { return nil }
            self.since = nil
            return .end(heldMs: Int64((until - since) / 1_000_000), endedNs: until)
        }
        defer { until = heldUntil }
        guard since == nil else { return nil }
        since = now
        return .begin
    }
}
