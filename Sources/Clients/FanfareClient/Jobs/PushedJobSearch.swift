package import StreamWire

/// Searches the entries of `jobs`, which no worker has taken yet, for a job.
package enum PushedJobSearch {
    /// Entries hold whole jobs: the search reads few at a time, and stops when it has read much.
    private static let entriesAtOnce = 10
    private static let maximumReads = 100
    package static let maximumBytes = 8 << 20
    /// Jobs of a project whose id contains a text.
    private static let maximumMatches = 20

    /// The id of the entry; nil if no gateway noted it and it was not found among the oldest ones.
    package static func find<Redis: RedisSending>(
        _ job: String,
        _ redis: Redis,
        _ keys: ProjectKeys
    ) async throws -> String? {
        if Identifiers.isEntry(job) {
            let reply = try await redis.reply(to: RedisCommand("XRANGE", keys.jobs, job, job))
            if reply.array?.isEmpty == false { return job }
        }
        if let noted = try await redis.reply(to: RedisCommand("ZSCORE", keys.pushed, job)).string,
            let entry = try await find(job, redis, keys, from: noted, to: noted)
        {
            return entry
        }
        return try await find(job, redis, keys, from: "-", to: "+")
    }

    private static func find<Redis: RedisSending>(
        _ job: String,
        _ redis: Redis,
        _ keys: ProjectKeys,
        from start: String,
        to end: String
    ) async throws -> String? {
        var from = start
        var bytes = 0
        for _ in 0..<maximumReads where bytes < maximumBytes {
            let command = RedisCommand("XRANGE", keys.jobs, from, end, "COUNT", "\(entriesAtOnce)")
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

    /// A job that no worker has taken.
    package struct Pushed: Equatable, Sendable {
        package var id: String
        package var entry: String
    }

    /// The jobs whose id contains a text, whatever its case, among the oldest entries of a project.
    ///
    /// - Parameter bytes: what may still be read; less afterwards.
    package static func matching<Redis: RedisSending>(
        _ text: String,
        _ redis: Redis,
        _ keys: ProjectKeys,
        bytes: inout Int
    ) async throws -> [Pushed] {
        let text = text.lowercased()
        var found: [Pushed] = []
        var from = "-"
        for _ in 0..<maximumReads where bytes > 0 && found.count < maximumMatches {
            let command = RedisCommand("XRANGE", keys.jobs, from, "+", "COUNT", "\(entriesAtOnce)")
            let values = try await redis.reply(to: command).array ?? []
            for entry in values.compactMap({ StreamEntry($0) }) {
                let id = entry.text("id") ?? entry.id
                if id.lowercased().contains(text) { found.append(Pushed(id: id, entry: entry.id)) }
                from = "(" + entry.id
                bytes -= entry.byteCount
            }
            if values.count < entriesAtOnce { break }
        }
        return found
    }
}
