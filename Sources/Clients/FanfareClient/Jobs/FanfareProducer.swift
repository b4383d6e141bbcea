public import StreamWire

/// Pushes jobs of one project and reads what became of them.
///
/// Everything here is a plain Redis command on a documented key, so a producer in another language needs no library:
/// this one saves the spelling.
public struct FanfareProducer<Redis: RedisSending>: Sendable {
    /// The names of the project's streams and hashes.
    public let keys: ProjectKeys
    private let prefix: String
    private let redis: Redis

    /// - Parameters:
    ///   - redis: a `RedisClient`, or whatever carries commands.
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - prefix: what the workers' configuration says.
    public init(redis: Redis, project: String, prefix: String = "fanfare") {
        self.redis = redis
        self.prefix = prefix
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// Pushes a job.
    ///
    /// When the connection breaks before the reply, the job may have been pushed or not: only a job with an id of its
    /// own is safe to push again.
    /// - Returns: the job's id: its own, or the one Redis gave the entry.
    public func push(_ job: PushJob) async throws -> String {
        let reply = try await redis.reply(to: job.command(project: keys.project, prefix: prefix))
        guard let entryID = reply.string else {
            throw FanfareClientError(.unexpectedReply, "XADD did not answer with an id")
        }
        return job.id ?? entryID
    }

    /// Where the job stands; nil while no worker has taken it, and when it is no longer kept.
    public func status(of job: String) async throws -> JobStatus? {
        JobStatus(id: job, reply: try await redis.reply(to: RedisCommand("HGETALL", keys.job(job))))
    }

    /// The results of one job that the stream still holds, entry by entry in the order they were written.
    ///
    /// Reads the project's stream from the time the job was handed over to the time it ended, so its cost grows with
    /// what the whole project wrote meanwhile. To follow all results, read the stream with a consumer group instead.
    /// - Parameters:
    ///   - status: of the job; its times bound what is read.
    ///   - unreadable: gets what is wrong with an entry that no worker wrote, by the entry's id; unless given, that ends
    ///     the reading.
    ///   - handle: gets each entry of the job; throwing ends the reading.
    public func results(
        of status: JobStatus,
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        handle: (ResultEntry) throws -> Void
    ) async throws {
        var start = status.createdMs.map { "\($0)" } ?? "-"
        // Entries get their ids from the server's clock, the end from its snapshot of it: a little slack costs nothing.
        let end = status.isOver ? status.finishedMs.map { "\($0 + 5_000)" } ?? "+" : "+"
        let pageSize = 100
        while true {
            let reply = try await redis.reply(
                to: RedisCommand("XRANGE", keys.results, start, end, "COUNT", "\(pageSize)")
            )
            let page = reply.array ?? []
            for value in page {
                guard let entry = StreamEntry(value) else { continue }
                start = "(" + entry.id
                guard entry.fields.contains(where: { $0.name == "job" && $0.value.elementsEqual(status.id.utf8) })
                else { continue }
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
