internal import FanfareClient
internal import StreamWire

/// Searches the entries of `jobs`, which no worker has taken yet, for a job.
enum PushedJobSearch {
    /// Entries hold whole jobs: the search reads few at a time, and stops when it has read much.
    private static let entriesAtOnce = 10
    private static let maxReads = 100
    private static let maxBytes = 8 << 20

    /// The id of the entry; nil if it was not found among the oldest ones.
    static func find<Redis: RedisSending>(_ job: String, _ redis: Redis, _ keys: ProjectKeys) async throws -> String? {
        if Identifiers.isEntry(job) {
            let reply = try await redis.reply(to: RedisCommand("XRANGE", keys.jobs, job, job))
            if reply.array?.isEmpty == false { return job }
        }
        var from = "-"
        var bytes = 0
        for _ in 0..<maxReads where bytes < maxBytes {
            let command = RedisCommand("XRANGE", keys.jobs, from, "+", "COUNT", "\(entriesAtOnce)")
            let values = try await redis.reply(to: command).array ?? []
            for value in values {
                guard let entry = StreamEntry(value) else { continue }
                if entry["id"].map({ $0.elementsEqual(job.utf8) }) == true { return entry.id }
                from = "(" + entry.id
                bytes += entry.byteCount
            }
            if values.count < entriesAtOnce { return nil }
        }
        return nil
    }
}
