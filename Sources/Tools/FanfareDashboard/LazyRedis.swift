internal import FanfareClient
internal import StreamWire

/// Connects to Redis on the first command, and again after a failed attempt: the dashboard may start before Redis.
///
/// An established connection reconnects by itself.
actor LazyRedis<Redis: RedisSending>: RedisSending {
    private let connect: @Sendable () async throws -> Redis
    private var opening: Task<Redis, any Error>?

    init(connect: @escaping @Sendable () async throws -> Redis) { self.connect = connect }

    nonisolated func reply(to command: RedisCommand) async throws -> RedisValue {
        try await client().reply(to: command)
    }

    private func client() async throws -> Redis {
        let task = opening ?? Task { [connect] in try await connect() }
        opening = task
        do {
            return try await task.value
        } catch {
            if opening == task { opening = nil }
            throw error
        }
    }
}
