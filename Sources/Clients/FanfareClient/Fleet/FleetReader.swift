internal import StreamWire

/// Reads snapshots of the fleet in two round trips.
public struct FleetReader<Redis: RedisSending>: Sendable {
    private let redis: Redis
    private let prefix: String
    private let configured: [String]
    private let most: Int

    /// - Parameters:
    ///   - projects: projects to read even if they are not registered in Redis.
    ///   - jobs: maximum number of jobs in each list.
    public init(redis: Redis, prefix: String = "fanfare", projects: [String] = [], jobs: Int = 20) {
        self.redis = redis
        self.prefix = prefix
        configured = projects
        most = max(1, jobs)
    }

    /// - Throws: the error of Redis, for example if the functions are missing or older than this program.
    public func read() async throws -> FleetSnapshot {
        let names = try await FanfareOperator.projects(redis: redis, prefix: prefix, including: configured)
        let projects = try await withThrowingTaskGroup(of: ProjectSnapshot.self) { group in
            for name in names { group.addTask { try await read(name) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return FleetSnapshot(projects: projects)
    }

    /// Reads a project in one round trip. A project with keys of the wrong type has a ``ProjectSnapshot/fault`` and
    /// hides no other project.
    public func read(_ project: String) async throws -> ProjectSnapshot {
        let keys = ProjectKeys(prefix: prefix, project: project)
        let reply: RedisValue
        do {
            reply = try await redis.reply(to: FunctionLibrary.fleet(keys, most: most))
        } catch let error as any RedisErrorReply where error.replyCode == "WRONGTYPE" {
            return try await faulty(project, keys)
        }
        guard let snapshot = ProjectSnapshot(id: project, reply: reply) else {
            throw FanfareClientError(.unexpectedReply, "fleet answered with an unknown reply")
        }
        return snapshot
    }

    private func faulty(_ project: String, _ keys: ProjectKeys) async throws -> ProjectSnapshot {
        let nowMs = JobInquiry.milliseconds(try await redis.reply(to: JobInquiry.time)) ?? 0
        var snapshot = ProjectSnapshot(id: project, overview: OverviewReply(nowMs: nowMs))
        let found = RedisFault.parse(try await redis.reply(to: FunctionLibrary.check(keys))) ?? []
        let texts = found.compactMap { fault -> String? in
            guard case .type(let key, let type, let needed) = fault else { return nil }
            return "\(key) is a \(type), must be a \(needed)"
        }
        let text = texts.isEmpty ? "a key has the wrong type" : texts.joined(separator: "; ")
        snapshot.fault = text + ": rename or delete it, workers write it again"
        return snapshot
    }
}
