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
        project.redis.send(FunctionLibrary.tidy(project.keys, idleMs: Self.consumerIdleMs)) { _ in }
    }
}
