public import RedisTransport
public import StreamWire

/// Something that carries a command to Redis and its reply back.
public protocol RedisSending: Sendable {
    /// - Throws: what the server or the connection says. An error reply is thrown, not returned.
    func reply(to command: RedisCommand) async throws -> RedisValue
}

extension RedisClient: RedisSending {
    public func reply(to command: RedisCommand) async throws -> RedisValue { try await send(command) }
}
