internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareRedis

/// The Redis connection of a command on one project.
struct ProjectSession {
    let client: RedisClient
    let project: String
    let prefix: String
    /// The project's settings; nil if the configuration does not have it.
    var settings: Configuration.Project?

    var projectOperator: FanfareOperator<RedisClient> {
        FanfareOperator(redis: client, project: project, prefix: prefix, actor: OperatorName.current)
    }

    var producer: FanfareProducer<RedisClient> {
        FanfareProducer(redis: client, project: project, prefix: prefix)
    }

    /// The checks that a worker with this configuration makes of a job; as for a v1 project if it does not have the
    /// project.
    var entryCheck: EntryCheck { EntryCheck(settings, project: project, prefix: prefix) }

    /// Whether a worker that is alive serves the project. True if that is not known: a producer's user may not read it.
    func isServed() async -> Bool {
        do {
            let snapshot = try await FleetReader(redis: client, prefix: prefix, jobs: 1).read(project)
            return snapshot.fault != nil || snapshot.workersAlive > 0
        } catch let error as RedisError {
            // Workers load the functions.
            return error.code != .functionNotFound
        } catch {
            return true
        }
    }
}
