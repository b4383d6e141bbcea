internal import StreamWire

/// What Redis holds of a project.
public struct ProjectRemains: Equatable, Sendable {
    /// Entries of `jobs` that no worker has taken, or that a worker has not yet handed over.
    public var entries: Int64 = 0
    /// Hashes of jobs.
    public var jobs: Int64 = 0
    /// Entries of `dead`.
    public var dead: Int64 = 0
    /// Keys, without the audit list.
    public var keys: Int64 = 0
    /// Whether the register of projects has the project.
    public var isRegistered = false

    public var isEmpty: Bool { keys == 0 && !isRegistered }

    public init() {}
}

extension FanfareOperator {
    private static var scanCount: String { "1000" }

    /// Counts what Redis holds of the project. Reads the names of all keys, a thousand at a time.
    public func remains() async throws -> ProjectRemains {
        var remains = ProjectRemains()
        let start = keys.job("")
        try await eachPage { page in
            remains.keys += Int64(page.count)
            remains.jobs += Int64(page.count { $0.hasPrefix(start) })
        }
        remains.entries = (try? await redis.reply(to: RedisCommand("XLEN", keys.jobs)).integer) ?? 0
        remains.dead = (try? await redis.reply(to: RedisCommand("XLEN", keys.dead)).integer) ?? 0
        remains.isRegistered = try await Self.projects(redis: redis, prefix: prefix).contains(project)
        return remains
    }

    /// Deletes all keys of the project but its audit list, which gets an entry, and removes it from the register. No worker
    /// may serve the project. A call that is cut short can be repeated: the register is changed last.
    /// - Returns: the number of keys that were deleted.
    public func forget(reason: String = "") async throws -> Int64 {
        var deleted: Int64 = 0
        try await eachPage { page in
            guard !page.isEmpty else { return }
            var command = RedisCommand("UNLINK", page[0])
            for key in page.dropFirst() { command.append(key) }
            deleted += try await redis.reply(to: command).integer ?? 0
        }
        let entry = HistoryInquiry.addAudit(keys, actor(reason), action: "forget_project", target: project)
        _ = try await redis.reply(to: entry)
        let register = ProjectKeys.projects(prefix: prefix)
        _ = try await redis.reply(to: RedisCommand("SREM", register, project))
        return deleted
    }

    /// Hands the project's keys but the audit list to the body, page by page; a key may come twice.
    private func eachPage(_ body: ([String]) async throws -> Void) async throws {
        let pattern = keys.base.map { #"\*?["#.contains($0) ? "\\\($0)" : "\($0)" }.joined() + "*"
        let audit = HistoryInquiry.auditKey(keys)
        var cursor = "0"
        repeat {
            let command = RedisCommand("SCAN", cursor, "MATCH", pattern, "COUNT", Self.scanCount)
            guard let reply = try await redis.reply(to: command).array, reply.count == 2, let next = reply[0].string
            else {
                throw FanfareClientError(.unexpectedReply, "SCAN answered with an unknown reply")
            }
            cursor = next
            let page = (reply[1].array ?? []).compactMap(\.string).filter { $0 != audit }
            try await body(Array(Set(page)))
        } while cursor != "0"
    }
}
