public import StreamWire

/// Reads a project's results, feedback and upstream entries as a member of a consumer group.
///
/// Each entry of a stream stays pending for one member of a group until it is acknowledged, and may be delivered twice.
/// Workers keep entries that a group has not acknowledged, so an abandoned group eventually blocks the project. Delete
/// it with `XGROUP DESTROY`.
public struct FanfareConsumer<Redis: RedisSending>: Sendable {
    public let keys: ProjectKeys
    /// The name of the application: each group gets every entry.
    public let group: String
    /// The name of the process, the same after a restart: it gets its unacknowledged entries again.
    public let consumer: String
    private let redis: Redis

    /// - Parameters:
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - prefix: as in the workers' configuration.
    public init(redis: Redis, project: String, group: String, consumer: String, prefix: String = "fanfare") {
        self.redis = redis
        self.group = group
        self.consumer = consumer
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// Creates the group on both streams, from their oldest entry. Idempotent.
    ///
    /// Call it before the first job is pushed: entries of a stream without a group are kept for 24 hours by default.
    public func createGroups() async throws {
        for stream in [keys.results, keys.feedback] { try await createGroup(of: stream) }
    }

    /// Creates the group on `upstream`. Idempotent. A group without a reader stops the project in the end.
    public func createUpstreamGroup() async throws { try await createGroup(of: keys.upstream) }

    private func createGroup(of stream: String) async throws {
        do {
            _ = try await redis.reply(to: RedisCommand("XGROUP", "CREATE", stream, group, "0", "MKSTREAM"))
        } catch let error as any RedisErrorReply where error.replyCode == "BUSYGROUP" {
            return
        }
    }

    /// Reads this consumer's entries of `results`: first its unacknowledged ones, then new ones, until there are no more.
    /// - Parameters:
    ///   - unreadable: gets the error of an entry that no worker wrote. By default it ends the reading, each time.
    ///   - handle: gets each entry, which is acknowledged when it returns. An error ends the reading.
    /// - Returns: the number of entries.
    @discardableResult
    public func readResults(
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        _ handle: (ResultEntry) async throws -> Void
    ) async throws -> Int {
        try await read(keys.results, ResultEntry.init, unreadable, handle)
    }

    /// Reads `feedback`: recipients to remove or to replace.
    @discardableResult
    public func readFeedback(
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        _ handle: (FeedbackEntry) async throws -> Void
    ) async throws -> Int {
        try await read(keys.feedback, FeedbackEntry.init, unreadable, handle)
    }

    /// Reads `upstream`: messages from apps, and delivery receipts, of a project with the XMPP transport.
    @discardableResult
    public func readUpstream(
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        _ handle: (UpstreamEntry) async throws -> Void
    ) async throws -> Int {
        try await read(keys.upstream, UpstreamEntry.init, unreadable, handle)
    }

    private func read<Entry>(
        _ stream: String,
        _ parse: (StreamEntry) throws(FanfareClientError) -> Entry,
        _ unreadable: (FanfareClientError) throws -> Void,
        _ handle: (Entry) async throws -> Void
    ) async throws -> Int {
        var count = 0
        for start in ["0", ">"] {
            var command = RedisCommand("XREADGROUP", "GROUP", group, consumer, "COUNT", "100", "STREAMS", stream)
            command.append(start)
            while true {
                let entries = StreamEntry.byStream(try await redis.reply(to: command)).flatMap(\.entries)
                if entries.isEmpty { break }
                for entry in entries {
                    var read: Entry?
                    do throws(FanfareClientError) {
                        read = try parse(entry)
                    } catch {
                        try unreadable(error)
                    }
                    if let read { try await handle(read) }
                    _ = try await redis.reply(to: RedisCommand("XACK", stream, group, entry.id))
                    count += 1
                }
            }
        }
        return count
    }
}
