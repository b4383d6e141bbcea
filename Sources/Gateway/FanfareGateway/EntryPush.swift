internal import FanfareClient
internal import StreamWire

/// Pushes the entry of a job and notes its id, so that every gateway finds the job while it waits, however many wait before it.
///
/// The notes are a sorted set; see ``ProjectKeys/pushed``. Workers read entries in order, so the newest notes, as many as
/// entries wait, belong to entries that no worker has read. Each push deletes some of the others.
struct EntryPush: Sendable {
    let redis: CountedRedis
    let keys: ProjectKeys

    /// The notes end so long after the last push, in milliseconds: 30 days.
    private static var noteMs: Int64 { 2_592_000_000 }

    /// A note that fails does not undo the push.
    ///
    /// - `KEYS`: the stream of jobs, the notes.
    /// - `ARGV`: the job's id, milliseconds, then the fields of the entry.
    private static var script: String {
        """
        local entry, notes = redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3)), KEYS[2]
        redis.pcall('ZADD', notes, string.match(entry, '%d+'), ARGV[1])
        redis.pcall('PEXPIRE', notes, ARGV[2])
        local waiting, noted = redis.pcall('XLEN', KEYS[1]), redis.pcall('ZCARD', notes)
        if type(waiting) == 'number' and type(noted) == 'number' and noted > waiting then
          redis.pcall('ZREMRANGEBYRANK', notes, 0, math.min(noted - waiting, 100) - 1)
        end
        return entry
        """
    }

    /// - Throws: the error of Redis.
    func push(_ fields: [(name: String, value: [UInt8])], id: String) async throws {
        var command = RedisCommand("EVAL", Self.script, "2", keys.jobs, keys.pushed, id, String(Self.noteMs))
        for (name, value) in fields {
            command.append(name)
            command.append(value)
        }
        _ = try await redis.reply(to: command)
    }
}
