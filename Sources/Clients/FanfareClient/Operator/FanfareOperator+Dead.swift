public import StreamWire

extension FanfareOperator {
    /// Entries hold whole jobs, so pages are small.
    private static var pageSize: Int { 25 }

    /// Visits the current entries of `dead`, without entries that no worker wrote.
    ///
    /// - Parameters:
    ///   - newestFirst: visits the newest entry first.
    ///   - before: with `newestFirst`, visits only entries older than this one.
    ///   - body: gets each entry, which it may replay or drop, and returns false to stop.
    public func eachDeadEntry(
        newestFirst: Bool = false,
        before: String? = nil,
        _ body: (DeadEntry) async throws -> Bool
    ) async throws {
        let last = try await redis.reply(to: RedisCommand("XREVRANGE", keys.dead, "+", "-", "COUNT", "1"))
        guard let end = last.array?.first.flatMap({ StreamEntry($0) })?.id else { return }
        var from = newestFirst ? before.map { "(" + $0 } ?? end : "-"
        while true {
            let (name, to) = newestFirst ? ("XREVRANGE", "-") : ("XRANGE", end)
            let command = RedisCommand(name, keys.dead, from, to, "COUNT", String(Self.pageSize))
            let page = try await redis.reply(to: command).array ?? []
            for value in page {
                guard let entry = StreamEntry(value) else { continue }
                from = "(" + entry.id
                guard let dead = try? DeadEntry(entry) else { continue }
                guard try await body(dead) else { return }
            }
            if page.count < Self.pageSize { return }
        }
    }

    /// The newest entries of a kind and of a job, or of all, that are older than `before`, newest first.
    public func deadEntries(
        kind: DeadEntry.Kind? = nil,
        job: String? = nil,
        limit: Int = 100,
        before: String? = nil
    ) async throws -> [DeadEntry] {
        var entries: [DeadEntry] = []
        guard limit > 0 else { return entries }
        try await eachDeadEntry(newestFirst: true, before: before) { entry in
            if kind == nil || entry.kind == kind, job == nil || entry.job == job { entries.append(entry) }
            return entries.count < limit
        }
        return entries
    }

    /// The entry with an id; nil if it does not exist.
    public func deadEntry(_ id: String) async throws -> DeadEntry? {
        let reply = try await redis.reply(to: RedisCommand("XRANGE", keys.dead, id, id))
        return try reply.array?.first.flatMap { StreamEntry($0) }.map { try DeadEntry($0) }
    }

    /// Resumes a parked job with its unfinished recipients, or pushes a rejected entry again unchanged. The entry leaves
    /// `dead` in the same step.
    public func replay(_ entryID: String, reason: String = "") async throws -> ReplayReply {
        let command = FunctionLibrary.replay(keys, entryID: entryID, by: actor(reason))
        return try answer(ReplayReply(await redis.reply(to: command)), "replay")
    }

    /// Pushes other fields in place of a rejected entry's, which leaves `dead` in the same step. A parked job is `gone`:
    /// it keeps the fields that it was pushed with.
    /// - Parameter fields: all fields of the new entry of `jobs`.
    public func pushEdited(
        _ entryID: String,
        fields: [(name: String, value: [UInt8])],
        reason: String = ""
    ) async throws -> ReplayReply {
        let command = FunctionLibrary.pushEdited(keys, entryID: entryID, fields: fields, by: actor(reason))
        return try answer(ReplayReply(await redis.reply(to: command)), "push_edited")
    }

    /// Deletes an entry of `dead`. If its job is parked, every unfinished recipient ends as `cancelled`, or as
    /// `unknown` if it may have been reached.
    public func drop(_ entryID: String, reason: String = "") async throws -> DropReply {
        let command = FunctionLibrary.drop(keys, entryID: entryID, by: actor(reason))
        return try answer(DropReply(await redis.reply(to: command)), "drop")
    }
}
