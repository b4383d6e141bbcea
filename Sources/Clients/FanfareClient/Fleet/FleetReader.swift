internal import StreamWire

/// Reads the fleet's picture: one round trip for the names of the projects, one for all of them together.
public struct FleetReader<Redis: RedisSending>: Sendable {
    private let redis: Redis
    private let prefix: String
    private let configured: [String]
    private let most: Int

    /// - Parameters:
    ///   - prefix: what the workers' configuration says.
    ///   - projects: shown even if nobody has seen them yet.
    ///   - jobs: of each list of jobs at most.
    public init(redis: Redis, prefix: String = "fanfare", projects: [String] = [], jobs: Int = 20) {
        self.redis = redis
        self.prefix = prefix
        configured = projects
        most = max(1, jobs)
    }

    /// - Throws: what Redis says, such as that the functions are not loaded, or are older than this program.
    public func read() async throws -> FleetSnapshot {
        let seen = try await FanfareOperator.projects(redis: redis, prefix: prefix)
        let names = Set(seen + configured)
        let projects = try await withThrowingTaskGroup(of: ProjectSnapshot.self) { group in
            for name in names { group.addTask { try await read(name) } }
            var projects: [ProjectSnapshot] = []
            for try await project in group { projects.append(project) }
            return projects
        }
        return FleetSnapshot(projects: projects)
    }

    /// One project alone, in one round trip.
    public func read(_ project: String) async throws -> ProjectSnapshot {
        let keys = ProjectKeys(prefix: prefix, project: project)
        let reply = try await redis.reply(to: FunctionLibrary.fleet(keys, most: most))
        guard let snapshot = ProjectSnapshot(id: project, reply: reply) else {
            throw FanfareClientError(.unexpectedReply, "fleet gave an unknown answer")
        }
        return snapshot
    }
}
