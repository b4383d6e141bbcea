internal import FanfareClient
internal import NIOConcurrencyHelpers
internal import StreamWire

/// Knows which projects workers have ever served. Jobs of others would wait for ever.
final class ServedProjects<Redis: RedisSending>: Sendable {
    private let redis: Redis
    private let prefix: String
    private let known = NIOLockedValueBox<Set<String>>([])

    init(redis: Redis, prefix: String) { (self.redis, self.prefix) = (redis, prefix) }

    /// - Throws: the error of Redis.
    func contains(_ project: String) async throws -> Bool {
        if known.withLockedValue({ $0.contains(project) }) { return true }
        // Only workers write it, with their first claim.
        let key = ProjectKeys(prefix: prefix, project: project).base + "ctl"
        guard try await redis.reply(to: RedisCommand("EXISTS", key)).integer == 1 else { return false }
        known.withLockedValue { _ = $0.insert(project) }
        return true
    }
}
