public import FanfareCore

/// Clocks, ids, limits and rules of a gateway.
public struct GatewayInputs: Sendable {
    /// Whether Redis may have run the command that ended with the error.
    let mayBeApplied: @Sendable (any Error) -> Bool
    /// The checks of a job of a project, as its workers make them.
    let entryCheck: @Sendable (_ project: String) -> EntryCheck
    /// A clock that is never set.
    let nowNs: @Sendable () -> UInt64
    /// Unix time, for the times in assertions.
    let nowSeconds: @Sendable () -> Int64
    /// A unique id with each call.
    let newJobID: @Sendable () -> String
    /// Counts the requests of every API that wait.
    let waits: WaitingRequests

    /// - Parameter maximumWaiting: requests that may wait at once; more get 503.
    public init(
        maximumWaiting: Int,
        mayBeApplied: @escaping @Sendable (any Error) -> Bool,
        entryCheck: @escaping @Sendable (_ project: String) -> EntryCheck,
        nowNs: @escaping @Sendable () -> UInt64,
        nowSeconds: @escaping @Sendable () -> Int64,
        newJobID: @escaping @Sendable () -> String
    ) {
        (self.mayBeApplied, self.entryCheck, self.nowNs) = (mayBeApplied, entryCheck, nowNs)
        (self.nowSeconds, self.newJobID) = (nowSeconds, newJobID)
        waits = WaitingRequests(maximum: maximumWaiting)
    }
}
