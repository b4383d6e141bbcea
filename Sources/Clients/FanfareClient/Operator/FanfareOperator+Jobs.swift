internal import StreamWire

public struct JobList: Equatable, Sendable {
    public var jobs: [JobStatus]
    /// False if there are more jobs than the limit.
    public var isWhole: Bool
    /// Hashes that were read.
    var reads = 0
}

extension FanfareOperator {
    /// The jobs that workers have taken: active fan-outs, waiting fan-outs in the order of the queue, parked jobs, then
    /// all others, the newest first. The list is no atomic snapshot.
    /// - Parameters:
    ///   - includingOver: also jobs that are over, as ``finishedJobs(limit:before:)`` lists them; a `state` that only such
    ///     jobs have asks for them, too.
    ///   - limit: maximum number of jobs. If there are more, any of the others may be missing.
    public func jobs(
        state: JobStatus.State? = nil,
        includingOver: Bool = false,
        limit: Int = 100
    ) async throws -> JobList {
        try await jobs(JobFilter(states: state.map { [$0] }, includesOver: includingOver), limit: limit)
    }

    /// As ``jobs(state:includingOver:limit:)``, of a filter.
    /// - Parameter reads: the list is not whole if more jobs must be read, or ids looked at, to find all that fit.
    public func jobs(_ filter: JobFilter, limit: Int = 100, reads: Int = .max) async throws -> JobList {
        var finder = JobFinder(redis: redis, keys: keys, filter: filter, limit: limit, reads: reads)
        if filter.findsOpen {
            if filter.states != [.parked] {
                let active = try await redis.reply(to: JobInquiry.active(keys))
                try await finder.add((active.array ?? []).compactMap(\.string))
                let queue = try await redis.reply(to: JobInquiry.queue(keys, most: max(1, limit)))
                try await finder.add(
                    (queue.array ?? []).compactMap { $0.string.flatMap { JobInquiry.job(ofMember: $0) } }
                )
            }
            try await finder.scan { JobInquiry.open(keys, parked: true, cursor: $0) }
            if filter.states != [.parked] {
                finder.othersStart = finder.found.count
                try await finder.scan { JobInquiry.open(keys, parked: false, cursor: $0) }
            }
        }
        if filter.findsOver { try await finder.addFinished() }
        return finder.list
    }
}

extension FanfareOperator {
    /// Reads jobs concurrently, which the connection pipelines.
    static func statuses(
        of ids: some Collection<String>,
        _ redis: Redis,
        _ keys: ProjectKeys
    ) async throws -> [String: JobStatus] {
        try await withThrowingTaskGroup(of: JobStatus?.self) { group in
            for id in ids {
                group.addTask {
                    JobStatus(id: id, reply: try await redis.reply(to: RedisCommand("HGETALL", keys.job(id))))
                }
            }
            return try await group.reduce(into: [:]) { statuses, status in
                if let status { statuses[status.id] = status }
            }
        }
    }
}
