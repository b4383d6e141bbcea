internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Reads the results of projects as they are written, from the moment on at which a project is first waited for.
///
/// One reading serves all requests of a project. It is no consumer group: a gateway leaves nothing behind, and reads on
/// after a lost connection where it was.
actor ResultTail {
    private struct Place {
        var results: String
        var dead: String
    }

    private let redis: CountedRedis
    private let prefix: String
    private let logger: Logger
    private var places: [String: Place] = [:]
    private var opening: [String: Task<Void, any Error>] = [:]
    /// Entries of a stream at a time: one may hold the results of a thousand recipients.
    private static var page: Int { 20 }
    private static var pages: Int { 8 }

    init(redis: CountedRedis, prefix: String, logger: Logger) {
        (self.redis, self.prefix, self.logger) = (redis, prefix, logger)
    }

    /// Returns once results that are written from now on will be read.
    ///
    /// - Throws: the error of Redis.
    func follow(_ project: String) async throws {
        if places[project] != nil { return }
        if let opening = opening[project] { return try await opening.value }
        let task = Task { try await open(project) }
        opening[project] = task
        defer { opening[project] = nil }
        try await task.value
    }

    private func open(_ project: String) async throws {
        let keys = ProjectKeys(prefix: prefix, project: project)
        let place = Place(results: try await lastID(keys.results), dead: try await lastID(keys.dead))
        if places[project] == nil { places[project] = place }
    }

    private func lastID(_ stream: String) async throws -> String {
        let reply = try await redis.reply(to: RedisCommand("XREVRANGE", stream, "+", "-", "COUNT", "1"))
        return (reply.array ?? []).first.flatMap { StreamEntry($0)?.id } ?? "0-0"
    }

    /// Forgets projects: what is written until somebody waits again is not read.
    func forget(_ isUnawaited: @Sendable (_ project: String) -> Bool) {
        places = places.filter { !isUnawaited($0.key) }
    }

    /// Reads what was written since the last call, but no more than some pages: other projects wait, too.
    ///
    /// - Throws: the error of Redis.
    func read(
        _ project: String,
        isAwaited: @Sendable (_ job: String) -> Bool,
        _ handle: @Sendable (WaitingTable.Event) -> Void
    ) async throws {
        guard var place = places[project] else { return }
        let keys = ProjectKeys(prefix: prefix, project: project)
        for _ in 0..<Self.pages {
            let command = RedisCommand(
                "XREAD",
                "COUNT",
                String(Self.page),
                "STREAMS",
                keys.results,
                keys.dead,
                place.results,
                place.dead
            )
            let reply = try await redis.reply(to: command)
            var isFull = false
            for (stream, entries) in StreamEntry.byStream(reply) {
                isFull = isFull || entries.count >= Self.page
                for entry in entries {
                    if stream == keys.dead { place.dead = entry.id } else { place.results = entry.id }
                    guard let job = entry.text("job"), isAwaited(job) else { continue }
                    if stream == keys.results {
                        if let entry = try? ResultEntry(entry) { handle(Self.event(entry, project: project)) }
                    } else if let dead = try? DeadEntry(entry), dead.kind == .rejected {
                        handle(.rejected(project: project, job: job, problem: dead.reason))
                    }
                }
            }
            if places[project] != nil { places[project] = place }
            if !isFull { return }
        }
    }

    nonisolated static func event(_ entry: ResultEntry, project: String) -> WaitingTable.Event {
        .results(project: project, job: entry.job, entry.results.map { (index: $0.index, result: ServedResult($0)) })
    }
}

extension ServedResult {
    init(_ result: JobResult) {
        self.init(
            status: result.status,
            kind: result.kind,
            recipient: result.recipient,
            messageID: result.messageID,
            canonical: result.canonical,
            error: result.error,
            rawError: result.rawError,
            httpStatus: result.httpStatus,
            action: result.action,
            failedTokens: result.failedTokens,
            group: result.group,
            topics: result.topics
        )
    }
}
