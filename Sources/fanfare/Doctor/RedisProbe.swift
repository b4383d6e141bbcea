internal import FanfareClient
internal import FanfareConfiguration
internal import Foundation
internal import RedisTransport
internal import StreamWire

/// Asks a server everything that the checks want to know. What its user may not ask stays unknown.
struct RedisProbe {
    let client: RedisClient
    let configuration: Configuration

    func facts() async throws(RedisError) -> RedisFacts {
        var facts = RedisFacts()
        facts.info = RedisFacts.info(try await client.send(RedisCommand("INFO")).string ?? "")
        if let reply = try await allowed(
            RedisCommand("CONFIG", "GET", "appendfsync", "min-replicas-to-write", "stop-writes-on-bgsave-error", "save")
        ) {
            facts.settings = RedisFacts.settings(reply)
        }
        facts.functions = try await functions()
        (facts.skewMs, facts.skewErrorMs) = try await skew()
        if facts.functions != .missing {
            for project in configuration.projects {
                let desk = FanfareOperator(redis: client, project: project.id, prefix: configuration.prefix)
                if let overview = try? await desk.overview() { facts.projects.append((project.id, overview)) }
            }
        }
        return facts
    }

    /// nil when this user may not, or the server has no such command under this name.
    private func allowed(_ command: RedisCommand) async throws(RedisError) -> RedisValue? {
        do throws(RedisError) {
            return try await client.send(command)
        } catch {
            guard error.code == .noPerm || error.code == .server else { throw error }
            return nil
        }
    }

    private func functions() async throws(RedisError) -> RedisFacts.Functions {
        var command = FunctionLibrary.list()
        command.append("WITHCODE")
        do throws(RedisError) {
            return RedisFacts.functions(try await client.send(command), source: FunctionLibrary.source)
        } catch {
            guard error.code == .noPerm || error.code == .server else { throw error }
            return .unknown("\(error)")
        }
    }

    /// Of several looks, the one whose answer came soonest knows best.
    private func skew() async throws(RedisError) -> (ms: Int64, errorMs: Int64) {
        var best: (ms: Int64, errorMs: Int64)?
        for _ in 0..<5 {
            let before = Date().timeIntervalSince1970
            let reply = try await client.send(JobInquiry.time)
            let after = Date().timeIntervalSince1970
            guard let redisMs = JobInquiry.milliseconds(reply) else {
                throw RedisError(.protocolError, "TIME did not answer with a time")
            }
            // This machine's clock may be stepped while it is read.
            let errorMs = Int64((max(0, after - before) * 500).rounded(.up))
            let skewMs = redisMs - Int64((before + after) * 500)
            if best.map({ errorMs < $0.errorMs }) ?? true { best = (skewMs, errorMs) }
        }
        return best ?? (0, 0)
    }
}
