internal import StreamWire

public struct JobList: Equatable, Sendable {
    public var jobs: [JobStatus]
    /// False if there are more jobs than the limit.
    public var isWhole: Bool
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
        var finder = JobFinder(redis: redis, keys: keys, state: state, limit: limit)
        let isOver = state?.isOver
        if isOver != true {
            if state != .parked {
                let active = try await redis.reply(to: JobInquiry.active(keys))
                try await finder.add((active.array ?? []).compactMap(\.string))
                let queue = try await redis.reply(to: JobInquiry.queue(keys, most: max(1, limit)))
                try await finder.add(
                    (queue.array ?? []).compactMap { $0.string.flatMap { JobInquiry.job(ofMember: $0) } }
                )
            }
            try await finder.scan { JobInquiry.open(keys, parked: true, cursor: $0) }
            if state != .parked {
                finder.othersStart = finder.found.count
                try await finder.scan { JobInquiry.open(keys, parked: false, cursor: $0) }
            }
        }
        if isOver == true || (state == nil && includingOver) {
            // Those of another state are left out only after they were read.
            let over = try await finishedJobs(limit: state == nil ? limit + 1 : Int(HistoryInquiry.mostFinished))
            finder.add(over)
        }
        return finder.list
    }
}

/// Reads the jobs of several lists of ids, each job once, until there are enough.
private struct JobFinder<Redis: RedisSending> {
    let redis: Redis
    let keys: ProjectKeys
    let state: JobStatus.State?
    let limit: Int
    var found: [JobStatus] = []
    /// Index in ``found`` from which jobs are sorted by time.
    var othersStart = 0
    var seen: Set<String> = []

    private var isFull: Bool { found.count > limit }

    var list: JobList {
        let others = found[othersStart...].sorted { ($0.createdMs ?? 0, $0.id) > ($1.createdMs ?? 0, $1.id) }
        return JobList(jobs: Array((found[..<othersStart] + others).prefix(limit)), isWhole: !isFull)
    }

    /// Follows a scan cursor to its end, or until there are enough jobs.
    mutating func scan(_ step: (String) -> RedisCommand) async throws {
        var cursor = "0"
        repeat {
            guard !isFull else { return }
            let reply = try await redis.reply(to: step(cursor)).array ?? []
            guard reply.count == 2, let next = reply[0].string else {
                throw FanfareClientError(.unexpectedReply, "a scan answered without a cursor")
            }
            try await add((reply[1].array ?? []).compactMap(\.string))
            cursor = next
        } while cursor != "0"
    }

    mutating func add(_ ids: [String]) async throws {
        let new = ids.filter { !seen.contains($0) }
        for start in stride(from: 0, to: new.count, by: 100) where !isFull {
            let page = new[start..<min(start + 100, new.count)]
            let statuses = try await FanfareOperator<Redis>.statuses(of: page, redis, keys)
            add(page.compactMap { statuses[$0] })
        }
    }

    mutating func add(_ statuses: [JobStatus]) {
        let new = statuses.filter { seen.insert($0.id).inserted }
        found += new.filter { state == nil || $0.state == state }
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
