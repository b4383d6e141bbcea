internal import StreamWire

extension FanfareOperator {
    /// Projects of the register that ``servedProjects(redis:prefix:)`` looks at.
    private static var maximumProjects: Int { 200 }

    /// Whether a worker has ever served the project: each worker makes its consumer group on `jobs` when it starts. A push
    /// makes none.
    public func wasServed() async throws -> Bool {
        do {
            _ = try await redis.reply(to: RedisCommand("XPENDING", keys.jobs, ProjectKeys.group))
            return true
        } catch let error as any RedisErrorReply where error.replyCode == "NOGROUP" {
            return false
        }
    }

    /// The ids of the registered projects that a worker has ever served, sorted; of the first 200 in the register.
    public static func servedProjects(redis: Redis, prefix: String = "fanfare") async throws -> [String] {
        var served: [String] = []
        for project in try await projects(redis: redis, prefix: prefix).prefix(maximumProjects) {
            let candidate = FanfareOperator(redis: redis, project: project, prefix: prefix)
            // A key of the wrong type hides no other project.
            if (try? await candidate.wasServed()) == true { served.append(project) }
        }
        return served
    }
}
