internal import FanfareClient
internal import FanfareCore
internal import Logging
internal import OpenSSLKit
internal import StreamWire

/// What requests left behind for equal ones, in Redis, so that every gateway knows it; see ``DuplicateRule``.
struct DuplicateMemory<Redis: RedisSending>: Sendable {
    let redis: Redis
    let prefix: String
    let logger: Logger

    /// The key of a request.
    func key(of request: [UInt8], project: String) -> String {
        let digits = MessageDigest.sha256(request).map { byte in
            let text = String(byte, radix: 16)
            return text.utf8.count == 1 ? "0" + text : text
        }
        return ProjectKeys(prefix: prefix, project: project).base + "gateway:" + digits.joined()
    }

    /// What an equal request left behind; nil for nothing. A job is taken over once, by the first that asks.
    ///
    /// - Throws: the error of Redis: without its word the request might be sent twice.
    func take(_ key: String) async throws -> DuplicateRule.Memory? {
        guard let text = try await redis.reply(to: RedisCommand("GET", key)).bytes,
            let memory = DuplicateRule.memory(text)
        else { return nil }
        if case .answer = memory { return memory }
        do {
            return try await redis.reply(to: RedisCommand("DEL", key)).integer == 1 ? memory : nil
        } catch {
            // It may be gone.
            await keep(memory, at: key)
            throw error
        }
    }

    func keep(_ memory: DuplicateRule.Memory, at key: String) async {
        var command = RedisCommand("SET", key)
        command.append(DuplicateRule.text(memory))
        command.append("PX")
        command.append(String(DuplicateRule.memoryMs))
        do {
            _ = try await redis.reply(to: command)
        } catch {
            logger.warning("A request is not remembered: its repeat is sent.", metadata: ["error": "\(error)"])
        }
    }
}
