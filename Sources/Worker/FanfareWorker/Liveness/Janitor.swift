internal import Logging
internal import RedisTransport
internal import StreamWire

/// Trims the outgoing streams, removes idle consumers without pending entries, and ends jobs that an error of an earlier
/// version left open.
final class Janitor {
    private let project: ProjectContext
    /// Cursor of the search for jobs to repair.
    private var cursor = "0"
    /// Minutes so far; the projects of a worker begin at different ones.
    private var minute = Int.random(in: 0..<quietMinutes)

    /// Time between two cleanings of a quiet project.
    private static let quietMinutes = 60
    private static let everyMs: Int64 = 60_000
    private static let jobsAtOnce = 100
    /// A consumer without pending entries that has been idle for this long.
    private static let consumerIdleMs: Int64 = 3_600_000

    init(project: ProjectContext) { self.project = project }

    func start() {
        project.every(milliseconds: Self.everyMs) { [weak self] in
            guard let self else { return }
            minute += 1
            if !project.isQuiet || minute.isMultiple(of: Self.quietMinutes) { clean() }
        }
    }

    func clean() {
        guard project.redis.state == .ready else { return }
        for stream in ["results", "feedback", "dead", "upstream"] {
            // A dead job waits for an operator, longer than the other streams' readers need.
            let keep = stream == "dead" ? project.configuration.keepJobMs : project.configuration.keepOutgoingMs
            project.redis.send(FunctionLibrary.trim(project.keys, stream: stream, keepMs: keep)) { _ in }
        }
        project.redis.send(FunctionLibrary.removeIdleConsumers(project.keys, idleMs: Self.consumerIdleMs)) { _ in }
        repair()
    }

    /// Repairs some of the open jobs; the next call continues after them.
    private func repair() {
        let command = FunctionLibrary.repair(project.keys, cursor: cursor, most: Self.jobsAtOnce)
        project.redis.send(command) { [weak self] result in
            guard let self, let reply = (try? result.get()).flatMap({ RepairReply($0) }) else { return }
            cursor = reply.cursor
            project.meters.repaired(reply.jobs.count)
            for (job, uncounted) in reply.jobs {
                project.logger.warning(
                    "A repair ended a job: all recipients had their result, but the job counted some as open.",
                    metadata: ["job": "\(job)", "unknown": "\(uncounted)"]
                )
            }
        }
    }
}
