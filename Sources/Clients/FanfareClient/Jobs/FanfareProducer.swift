public import FanfareModel
public import StreamWire

/// Pushes jobs of a project and reads their results.
///
/// Every method is a plain Redis command on a documented key, so producers in other languages need no library.
public struct FanfareProducer<Redis: RedisSending>: Sendable {
    public let keys: ProjectKeys
    let redis: Redis

    /// - Parameters:
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - prefix: as in the workers' configuration.
    public init(redis: Redis, project: String, prefix: String = "fanfare") {
        self.redis = redis
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// Pushes a job. After a lost connection only a job with its own id is safe to push again.
    /// - Returns: the job's own id, or the id of its stream entry.
    public func push(_ job: PushJob) async throws -> String {
        let entryID = try await add(job)
        return job.id ?? entryID
    }

    /// Pushes a typed message with the default of every other field.
    /// - Parameter id: your own id, 1 to 128 of `A-Z a-z 0-9 . _ : -`. With one, pushing is idempotent.
    /// - Returns: `id`, or the id of the stream entry.
    public func push(_ message: Message, to target: Target, id: String? = nil) async throws -> String {
        var job = PushJob(target: target, message: message)
        job.id = id
        return try await push(job)
    }

    /// As ``push(_:)``.
    /// - Returns: the id of the stream entry.
    public func add(_ job: PushJob) async throws -> String {
        if let fault = job.timeFault { throw FanfareClientError(.badArgument, fault) }
        return try await add(fields: job.fields)
    }

    /// Pushes the fields of an entry as they are.
    /// - Returns: the id of the stream entry.
    package func add(fields: [(name: String, value: [UInt8])]) async throws -> String {
        let reply = try await redis.reply(to: PushJob.command(fields, to: keys))
        guard let entryID = reply.string else {
            throw FanfareClientError(.unexpectedReply, "XADD did not answer with an id")
        }
        return entryID
    }

    /// The status of a job; nil while no worker has taken it, while a push to one recipient is in flight, and when it is no
    /// longer kept.
    public func status(of job: String) async throws -> JobStatus? {
        JobStatus(id: job, reply: try await redis.reply(to: RedisCommand("HGETALL", keys.job(job))))
    }

    /// Reads the results of a job that the stream still holds, in the order they were written.
    ///
    /// The cost grows with the results of all jobs from the start of the job to its end. To follow all results, use a
    /// consumer group instead.
    /// - Parameters:
    ///   - status: the job's status, whose times bound the reading.
    ///   - unreadable: gets the error of an entry that no worker wrote. By default it ends the reading.
    ///   - handle: gets each entry of the job. An error ends the reading.
    public func results(
        of status: JobStatus,
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        handle: (ResultEntry) throws -> Void
    ) async throws {
        var start = status.createdMs.map { "\($0)" } ?? "-"
        // Ids of entries come from the server's clock, which may be ahead of finishedMs.
        let end = status.isOver ? status.finishedMs.map { "\($0 + 5_000)" } ?? "+" : "+"
        let pageSize = 100
        while true {
            let command = RedisCommand("XRANGE", keys.results, start, end, "COUNT", "\(pageSize)")
            let page = try await redis.reply(to: command).array ?? []
            for value in page {
                guard let entry = StreamEntry(value) else { continue }
                start = "(" + entry.id
                guard let job = entry["job"], job.elementsEqual(status.id.utf8) else { continue }
                let read: ResultEntry
                do throws(FanfareClientError) {
                    read = try ResultEntry(entry)
                } catch {
                    try unreadable(error)
                    continue
                }
                try handle(read)
            }
            if page.count < pageSize { return }
        }
    }
}
