/// Decides what follows a push that failed.
///
/// A push that may have been lost on its way back is repeated: the job's id makes that harmless, and a job that is surely in
/// Redis is answered better than one in doubt.
public struct PushDoubt: Sendable {
    public enum Decision: Equatable, Sendable {
        case again(afterMs: Int64)
        /// Nothing is in Redis.
        case refused
        /// Whether the job is in Redis is not known.
        case unknown
    }

    /// After the first doubt, a push is repeated at least so long: the timeout of a command may outlast the wait of a
    /// client.
    private static let leastNs: UInt64 = 3_000_000_000
    private static let pauseMs: Int64 = 200

    private var untilNs: UInt64
    private var isDoubtful = false

    /// - Parameter untilNs: how long somebody waits for the push.
    public init(untilNs: UInt64) { self.untilNs = untilNs }

    /// - Parameter mayBeApplied: whether Redis may have run the push.
    public mutating func failed(mayBeApplied: Bool, nowNs: UInt64) -> Decision {
        if mayBeApplied, !isDoubtful {
            isDoubtful = true
            untilNs = max(untilNs, nowNs + Self.leastNs)
        }
        guard isDoubtful else { return .refused }
        return nowNs < untilNs ? .again(afterMs: Self.pauseMs) : .unknown
    }
}
