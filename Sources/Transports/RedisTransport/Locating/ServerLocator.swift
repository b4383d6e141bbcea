/// Finds the server for each new connection. Belongs to one connection, on its loop.
protocol ServerLocator: AnyObject {
    /// Finds the server; calls `answer` once, on the loop. A second call replaces one that has not answered.
    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void)
    /// Checks an open connection. Answers with another server where there is one; does not answer otherwise.
    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void)
    /// Interval of ``reconsider(_:)``; nil for never.
    var reconsiderMs: Int64? { get }
    /// True when a server may answer to its name in the wrong role, so that its role has to be checked.
    var mustBePrimary: Bool { get }
    /// True when a command that failed with `error` means that the server has to be located again.
    func shouldRelocate(after error: RedisError, by server: RedisEndpoint) -> Bool
    /// The Sentinels' latest answers about the primary in use; nil without Sentinels, and before they were asked.
    var sentinelState: SentinelState? { get }
    func close()
}

extension ServerLocator {
    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void) {}
    var reconsiderMs: Int64? { nil }
    // A cluster's replica answers whatever needs the primary with MOVED.
    var mustBePrimary: Bool { false }
    func shouldRelocate(after error: RedisError, by server: RedisEndpoint) -> Bool { false }
    var sentinelState: SentinelState? { nil }
}

/// One server that is always the same.
final class FixedLocator: ServerLocator {
    private let server: RedisEndpoint

    init(_ server: RedisEndpoint) { self.server = server }

    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void) { answer(.success(server)) }
    func close() {}
}
