internal import EventLoop
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Trims what has served its time from the outgoing streams, and removes consumers that left nothing behind.
final class Janitor {
    private let project: ProjectContext

    private static let everyMs: Int64 = 60_000
    /// A consumer without pending entries that has been idle for this long.
    private static let consumerIdleMs: Int64 = 3_600_000

    init(project: ProjectContext) { self.project = project }

    func start() {
        project.loop.schedule(afterMilliseconds: Self.everyMs) { [weak self] in
            self?.clean()
            self?.start()
        }
    }

    func clean() {
        guard project.redis.state == .ready else { return }
        for stream in ["results", "feedback", "dead", "upstream"] {
            // A dead job waits for a person; only a reader of the stream lets it go.
            let keep = stream == "dead" ? project.configuration.keepJobMs : project.configuration.keepOutgoingMs
            project.redis.send(FunctionLibrary.trim(project.keys, stream: stream, keepMs: keep)) { _ in }
        }
        removeConsumers()
    }

    private func removeConsumers() {
        let keys = project.keys
        project.redis.send(RedisCommand("XINFO", "CONSUMERS", keys.jobs, ProjectKeys.group)) { [weak self] result in
            guard let self, case .success(let value) = result else { return }
            for consumer in value.array ?? [] {
                let flat = consumer.array ?? []
                var fields: [String: RedisValue] = [:]
                for at in stride(from: 0, to: flat.count - 1, by: 2) { fields[flat[at].string ?? ""] = flat[at + 1] }
                guard let name = fields["name"]?.string, name != project.configuration.name,
                    // Deleting a consumer with pending entries would lose them.
                    fields["pending"]?.integer == 0, (fields["idle"]?.integer ?? 0) > Self.consumerIdleMs
                else { continue }
                project.redis.send(RedisCommand("XGROUP", "DELCONSUMER", keys.jobs, ProjectKeys.group, name)) { _ in }
            }
        }
    }
}
