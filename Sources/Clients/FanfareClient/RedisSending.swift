public import StreamWire

/// A client that sends a command to Redis and returns its reply: `RedisClient` of the product FanfareRedis, or another.
public protocol RedisSending: Sendable {
    /// - Throws: the error of the server or the connection. An error reply is thrown, not returned; make the thrown error
    ///   a ``RedisErrorReply``.
    func reply(to command: RedisCommand) async throws -> RedisValue
}

/// An error that Redis replied to a command.
///
/// ``FanfareConsumer/createGroups()`` recognizes `BUSYGROUP` by it: the group exists already, which is no failure.
public protocol RedisErrorReply: Error {
    /// The first word of the reply in capitals, such as `BUSYGROUP` or `ERR`; another text for an error that is no reply.
    var replyCode: String { get }
}
