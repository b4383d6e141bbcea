internal import FanfareClient
internal import FanfareRedis
internal import StreamWire

/// Jobs of a project that were pushed and that no worker has taken.
struct UntakenJobs {
    var project: String
    var count: Int64
    /// Whether a worker that is alive serves the project.
    var isServed: Bool

    /// nil if there are none.
    static func read(_ session: ProjectSession) async throws -> UntakenJobs? {
        let keys = ProjectKeys(prefix: session.prefix, project: session.project)
        do {
            let reader = FleetReader(redis: session.client, prefix: session.prefix, jobs: 1)
            let snapshot = try await reader.read(session.project)
            let count = snapshot.overview.entries
            return count > 0
                ? UntakenJobs(project: session.project, count: count, isServed: snapshot.workersAlive > 0) : nil
        } catch let error as RedisError where error.code == .functionNotFound {
            // Workers load the functions, so none has ever been there.
            let count = try await session.client.send(RedisCommand("XLEN", keys.jobs)).integer ?? 0
            return count > 0 ? UntakenJobs(project: session.project, count: count, isServed: false) : nil
        } catch let error as RedisError where error.code == .noPerm {
            return nil
        }
    }

    var notice: String {
        let jobs = "\(count) pushed \(count == 1 ? "job" : "jobs")"
        return isServed
            ? "\(jobs), not yet taken, in project \(project)" : "\(jobs), no worker serves project \(project)"
    }
}
