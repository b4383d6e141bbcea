package import FanfareModel
package import StreamWire

/// Which results of a job are read. An empty filter matches all.
package struct ResultFilter: Equatable, Sendable {
    package var status: ResultStatus?
    /// Leaves out `sent` results.
    package var isFailedOnly = false
    /// Leaves out results that are not flagged as possible duplicates.
    package var isMaybeDupOnly = false
    package var error: String?

    package init(status: ResultStatus? = nil) { self.status = status }

    package func matches(_ result: JobResult) -> Bool {
        if let status, result.status != status { return false }
        if isFailedOnly, result.status == .sent { return false }
        if isMaybeDupOnly, !result.mayBeDuplicate { return false }
        return error == nil || result.error == error
    }

    /// The filter of a query: `status`, `error`, `failed=1` and `maybe_dup=1`; nil if a value is not valid.
    package init?(_ query: [String: String]) {
        isFailedOnly = query["failed"] == "1"
        isMaybeDupOnly = query["maybe_dup"] == "1"
        if let text = query["status"], !text.isEmpty {
            guard let status = ResultStatus(rawValue: text) else { return nil }
            self.status = status
        }
        if let text = query["error"], !text.isEmpty {
            guard text.utf8.count <= 64, text.wholeMatch(of: /[A-Z_]+/) != nil else { return nil }
            error = text
        }
    }
}

/// Reads a job's entries from the project's `results` stream, a few at a time, so that memory stays bounded.
package struct ResultReader<Redis: RedisSending>: Sendable {
    /// An entry holds at most 1,000 results.
    private static var entriesAtOnce: Int { 10 }

    /// Entries of the job, in their order.
    package struct Chunk: Sendable {
        package var entries: [ResultEntry] = []
        /// Ids of skipped entries of the job that no worker wrote.
        package var unreadable: [String] = []
        /// The last entry that was looked at, of any job.
        package var last: String?
        /// Bytes that Redis sent.
        package var bytes = 0
        package var isEnd = false
    }

    private let redis: Redis
    private let keys: ProjectKeys
    private let job: String
    private let end: String
    private var from: String

    /// - Parameters:
    ///   - status: the job's status, whose times bound the reading.
    ///   - start: the entry to begin with; nil for the job's first.
    ///   - end: the last entry to read; nil for the job's last.
    package init(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        from start: String? = nil,
        until end: String? = nil
    ) {
        self.redis = redis
        self.keys = keys
        job = status.id
        // Ids of entries come from the server's clock, which may differ from the times of the job.
        let slackMs: Int64 = 5_000
        from = start ?? (status.startedMs ?? status.createdMs).map { "\(max(0, $0 - slackMs))" } ?? "-"
        self.end = end ?? (status.isOver ? status.finishedMs.map { "\($0 + slackMs)" } ?? "+" : "+")
    }

    package mutating func next() async throws -> Chunk {
        let command = RedisCommand("XRANGE", keys.results, from, end, "COUNT", "\(Self.entriesAtOnce)")
        let values = try await redis.reply(to: command).array ?? []
        var chunk = Chunk(isEnd: values.count < Self.entriesAtOnce)
        for value in values {
            guard let entry = StreamEntry(value) else { continue }
            from = "(" + entry.id
            chunk.last = entry.id
            chunk.bytes += entry.byteCount
            guard entry.fields.contains(where: { $0.name == "job" && $0.value.elementsEqual(job.utf8) }) else {
                continue
            }
            if let readable = try? ResultEntry(entry) {
                chunk.entries.append(readable)
            } else {
                chunk.unreadable.append(entry.id)
            }
        }
        return chunk
    }
}

extension ResultReader {
    /// Reads up to the newest entry of the stream, so that the reading of an open job ends.
    ///
    /// - Parameter start: the entry to begin with; nil for the job's first.
    package static func untilNow(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        from start: String? = nil
    ) async throws -> ResultReader {
        guard !status.isOver else { return ResultReader(redis, keys, of: status, from: start) }
        let reply = try await redis.reply(to: RedisCommand("XREVRANGE", keys.results, "+", "-", "COUNT", "1"))
        let newest = reply.array?.first.flatMap { StreamEntry($0) }?.id
        return ResultReader(redis, keys, of: status, from: start, until: newest ?? "0")
    }
}
