internal import FanfareModel
internal import RedisTransport
public import StreamWire

/// Reads a project's results, feedback and upstream entries as a member of a consumer group.
///
/// Each entry of a stream goes to one member of a group and stays pending until it is acknowledged: nothing is lost when
/// a member ends, and an entry may be delivered twice. Workers keep entries that a group has not acknowledged, so an
/// abandoned group eventually blocks the project. Delete it with `XGROUP DESTROY`.
public struct FanfareConsumer<Redis: RedisSending>: Sendable {
    /// The names of the project's streams and hashes.
    public let keys: ProjectKeys
    /// The name of the application: each group gets every entry.
    public let group: String
    /// The name of the process, the same after a restart: it gets its unacknowledged entries again.
    public let consumer: String
    private let redis: Redis

    /// - Parameters:
    ///   - redis: a `RedisClient`, or another client.
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - group: see ``group``.
    ///   - consumer: see ``consumer``.
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

    /// Creates the group on `upstream`. Idempotent. Call it only in an application that calls
    /// ``readUpstream(unreadable:_:)``: a group without a reader stops the project once its backlog exceeds the limit.
    public func createUpstreamGroup() async throws { try await createGroup(of: keys.upstream) }

    private func createGroup(of stream: String) async throws {
        do {
            _ = try await redis.reply(to: RedisCommand("XGROUP", "CREATE", stream, group, "0", "MKSTREAM"))
        } catch let error as RedisError where error.code == .busyGroup {
            return
        }
    }

    /// Reads this consumer's entries of `results`: first its unacknowledged ones, then new ones, until there are no more.
    /// An entry is acknowledged when `handle` returns. An error from `handle` ends the reading.
    /// - Parameters:
    ///   - unreadable: gets the error of an entry that no worker wrote; the entry is acknowledged when it returns. By
    ///     default such an entry ends the reading, each time.
    ///   - handle: gets each entry.
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
            while true {
                let command = RedisCommand(
                    "XREADGROUP",
                    "GROUP",
                    group,
                    consumer,
                    "COUNT",
                    "100",
                    "STREAMS",
                    stream,
                    start
                )
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
