internal import FanfareModel
internal import OpenSSLKit

/// The scripts that change records of requests in Redis, each in one step. All keys of a call are of one project.
struct RecordScript: Sendable {
    let text: String
    /// SHA-1 of the text in hexadecimal digits, by which Redis finds a script that it has run before.
    let name: String

    private init(_ text: String) {
        self.text = text
        name = MessageDigest.sha1(Array(text.utf8)).hexadecimal
    }

    /// Adds a job, the records of its requests and a note of its id, unless a request has earlier ones to look at: then it
    /// answers their positions and records, and does nothing.
    ///
    /// Nothing to look at are open records of the same gateway: it has their clients. A repeated call whose first one was
    /// run finds its own records, and does nothing.
    ///
    /// By its note every gateway finds the job while it waits, however many wait before it; see ``ProjectKeys/pushed``. Of a
    /// few entries, a search finds it without a note. Workers read entries in order, so the newest notes, as many as entries
    /// wait, belong to entries that no worker has read. Each push deletes some of the others. A note that fails does not undo
    /// the push.
    ///
    /// - `KEYS`: the stream of jobs, the notes, then the hash of each request.
    /// - `ARGV`: the beginning of fields whose open records are nothing to look at, milliseconds of a record and of the
    ///   notes, the job, then field and record of each request, then the fields of the entry.
    static let push = RecordScript(
        """
        local count, first, notes = #KEYS - 2, 5, KEYS[2]
        if count > 0 and redis.call('EXISTS', unpack(KEYS, 3)) > 0 then
          local gateway, job, found = ARGV[1], ' ' .. ARGV[4] .. ' ', {}
          for i = 1, count do
            local own = redis.call('HGET', KEYS[i + 2], ARGV[first + 2 * i - 2])
            if own and string.find(own, job, 1, true) then return {} end
          end
          for i = 1, count do
            local known, others = redis.call('HGETALL', KEYS[i + 2]), {}
            for f = 1, #known, 2 do
              local field, record = known[f], known[f + 1]
              local own = string.sub(field, 1, #gateway) == gateway and string.sub(record, 1, 5) == 'open '
              if not own and not string.find(record, job, 1, true) then
                others[#others + 1] = field
                others[#others + 1] = record
              end
            end
            if #others > 0 then found[#found + 1] = {i - 1, others} end
          end
          if #found > 0 then return found end
        end
        for i = 1, count do
          redis.call('HSET', KEYS[i + 2], ARGV[first + 2 * i - 2], ARGV[first + 2 * i - 1])
          redis.call('PEXPIRE', KEYS[i + 2], ARGV[2])
        end
        local entry = redis.call('XADD', KEYS[1], '*', unpack(ARGV, first + 2 * count))
        local waiting, stale = redis.pcall('XLEN', KEYS[1]), 100
        if type(waiting) == 'number' and waiting > 500 then
          redis.pcall('ZADD', notes, string.match(entry, '%d+'), ARGV[4])
          redis.pcall('PEXPIRE', notes, ARGV[3])
          local noted = redis.pcall('ZCARD', notes)
          stale = type(noted) == 'number' and math.min(noted - waiting, 100) or 0
        end
        if stale > 0 then redis.pcall('ZREMRANGEBYRANK', notes, 0, stale - 1) end
        return {}
        """
    )

    /// Puts a record in the place of another, if that is as it was.
    ///
    /// - `ARGV`: milliseconds, field and record of the other, field and record of the new one.
    static let takeOver = RecordScript(
        """
        if redis.call('HGET', KEYS[1], ARGV[2]) ~= ARGV[3] then return 0 end
        redis.call('HDEL', KEYS[1], ARGV[2])
        redis.call('HSET', KEYS[1], ARGV[4], ARGV[5])
        redis.call('PEXPIRE', KEYS[1], ARGV[1])
        return 1
        """
    )

    /// Changes records that are there; an empty one deletes.
    ///
    /// - `ARGV`: milliseconds, then field and record for each key.
    static let change = RecordScript(
        """
        for i, key in ipairs(KEYS) do
          local field, record = ARGV[2 * i], ARGV[2 * i + 1]
          if record == '' then
            redis.call('HDEL', key, field)
          elseif redis.call('HEXISTS', key, field) == 1 then
            redis.call('HSET', key, field, record)
            redis.call('PEXPIRE', key, ARGV[1])
          end
        end
        return 0
        """
    )
}
