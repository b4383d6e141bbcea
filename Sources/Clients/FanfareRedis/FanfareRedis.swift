public import FanfareClient
// The connection itself: a program that imports FanfareRedis can make one.
@_exported public import RedisTransport
public import StreamWire

extension RedisClient: RedisSending {
    /// Sends a command on this connection.
    /// - Throws: `RedisError`, whose `maybeApplied` says whether the server may have run the command.
    public func reply(to command: RedisCommand) async throws -> RedisValue { try await send(command) }
}

extension RedisError: RedisErrorReply {
    /// The server's first word, or a word in lower case for an error of the connection.
    public var replyCode: String { code.rawValue }
}
