public import RedisTransport
public import StreamWire

/// A client that sends a command to Redis and returns its reply: a `RedisClient`, or another one.
public protocol RedisSending: Sendable {
    /// - Throws: the error of the server or the connection. An error reply is thrown, not returned.
    func reply(to command: RedisCommand) async throws -> RedisValue
}

extension RedisClient: RedisSending {
    public func reply(to command: RedisCommand) async throws -> RedisValue { try await send(command) }
}
