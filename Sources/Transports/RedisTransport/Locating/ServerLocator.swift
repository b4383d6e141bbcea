/// Says, each time a connection is to be opened, which server it goes to. Belongs to one connection, on its loop.
protocol ServerLocator: AnyObject {
    /// Answers once, on the loop, at once or later. Another call takes the place of one that has not answered.
    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void)
    /// While the connection holds: answers where it should go instead, and not at all if it is right.
    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void)
    /// How often to reconsider; nil: never.
    var reconsiderMs: Int64? { get }
    /// A server answers to its name and is still the wrong one: its role has to be asked.
    var mustBePrimary: Bool { get }
    /// A command was refused. True when the connection shall be given up for one to a server that is located anew.
    func refused(_ error: RedisError, by server: RedisEndpoint) -> Bool
    /// The Sentinels' latest answers about the primary in use; nil without Sentinels, and before they were asked.
    var sentinelState: SentinelState? { get }
    func close()
}

extension ServerLocator {
    var sentinelState: SentinelState? { nil }
}

/// One server that is always the same.
final class FixedLocator: ServerLocator {
    private let server: RedisEndpoint

    init(_ server: RedisEndpoint) { self.server = server }

    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void) { answer(.success(server)) }
    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void) {}
    var reconsiderMs: Int64? { nil }
    var mustBePrimary: Bool { false }
    func refused(_ error: RedisError, by server: RedisEndpoint) -> Bool { false }
    func close() {}
}
