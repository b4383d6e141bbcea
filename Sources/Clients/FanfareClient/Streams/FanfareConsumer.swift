internal import FanfareModel
internal import RedisTransport
public import StreamWire

/// Reads a project's results, feedback and upstream entries as a member of a consumer group.
///
/// Each entry of a stream goes to one member of a group, and stays the group's until it is acknowledged: nothing is lost
/// when a member ends, and an entry may be handed over twice. Workers keep what a group has not acknowledged, so a group
/// that nobody reads any more ends by holding the project up: take it away with `XGROUP DESTROY`.
public struct FanfareConsumer<Redis: RedisSending>: Sendable {
    /// The names of the project's streams and hashes.
    public let keys: ProjectKeys
    /// One name per application: each group gets every entry.
    public let group: String
    /// One name per running process, the same after a restart: it gets back what it had not acknowledged.
    public let consumer: String
    private let redis: Redis

    /// - Parameters:
    ///   - redis: a `RedisClient`, or whatever carries commands.
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - group: see ``group``.
    ///   - consumer: see ``consumer``.
    ///   - prefix: what the workers' configuration says.
    public init(redis: Redis, project: String, group: String, consumer: String, prefix: String = "fanfare") {
        self.redis = redis
        self.group = group
        self.consumer = consumer
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// Makes the group on both streams, from the oldest entry that they still hold. Safe to repeat.
    ///
    /// Do this before the first job is pushed: what is written while a stream has no group is kept for 24 hours, unless
    /// configured.
    public func createGroups() async throws {
        for stream in [keys.results, keys.feedback] { try await createGroup(of: stream) }
    }

    /// Makes the group on `upstream`. Idempotent. Call it only in an application that calls
    /// ``readUpstream(unreadable:_:)``: a group without a reader stops the project once its backlog exceeds the limit.
    public func createUpstreamGroup() async throws { try await createGroup(of: keys.upstream) }

    private func createGroup(of stream: String) async throws {
        do {
            _ = try await redis.reply(to: RedisCommand("XGROUP", "CREATE", stream, group, "0", "MKSTREAM"))
        } catch let error as RedisError where error.code == .busyGroup {
            return
        }
    }

    /// Hands over every entry of `results` that is this consumer's: those that it had not acknowledged, then new ones,
    /// until there are no more. Each is acknowledged when `handle` returns; throwing ends the reading.
    /// - Parameters:
    ///   - unreadable: gets what is wrong with an entry that no worker wrote, which is acknowledged when this returns.
    ///     Unless given, such an entry ends the reading, now and the next time.
    ///   - handle: gets each entry.
    /// - Returns: how many there were.
    @discardableResult
    public func readResults(
        unreadable: (FanfareClientError) throws -> Void = { throw $0 },
        _ handle: (ResultEntry) async throws -> Void
    ) async throws -> Int {
        try await read(keys.results, ResultEntry.init, unreadable, handle)
    }

    /// The same for `feedback`: recipients to forget or to replace.
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
