internal import Foundation

/// What the Go library asynq asks of Redis for a task: its documented commands in three scripts of ours, one call at a time.
///
/// A task has no unique key, as a job of `singles` has no `id`. A fifth of the sends, because each call waits for its
/// reply.
struct AsynqRival: Contender {
    let name = "asynq"
    let summary = "Redis alone, no sends: asynq's scripts for enqueue, dequeue and done, one call at a time"
    let workspace: Workspace
    /// Tasks before the clock starts.
    let warmUp: Int

    /// A task is a hash; the list of pending tasks has its id. A task id in use is refused.
    private static let enqueue = """
        if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        redis.call('HSET', KEYS[1], 'msg', ARGV[1], 'state', 'pending', 'pending_since', ARGV[3])
        redis.call('LPUSH', KEYS[2], ARGV[2])
        return 1
        """

    /// The oldest pending task of a queue that is not paused becomes active, and has a lease that ends at a given time.
    private static let dequeue = """
        if redis.call('EXISTS', KEYS[2]) == 1 then return false end
        local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[3])
        if not id then return false end
        local task = ARGV[2] .. id
        redis.call('HSET', task, 'state', 'active')
        redis.call('HDEL', task, 'pending_since')
        redis.call('ZADD', KEYS[4], ARGV[1], id)
        return redis.call('HGET', task, 'msg')
        """

    /// A finished task is removed from the active list, its lease and its hash with it; the day's counter, which expires,
    /// and the total grow by one.
    private static let done = """
        if redis.call('LREM', KEYS[1], 0, ARGV[1]) == 0 then return redis.error_reply('not active') end
        if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return redis.error_reply('no lease') end
        if redis.call('DEL', KEYS[3]) == 0 then return redis.error_reply('no task') end
        if redis.call('INCR', KEYS[4]) == 1 then redis.call('EXPIREAT', KEYS[4], ARGV[2]) end
        if redis.call('GET', KEYS[5]) == ARGV[3] then
            redis.call('SET', KEYS[5], 1)
        else
            redis.call('INCR', KEYS[5])
        end
        return 1
        """

    func run(sends: Int) throws -> RunSample {
        let redis = try PrivateRedis(.appendOnly, in: workspace)
        defer { redis.stop() }
        let count = max(5_000, sends / 5)
        let calls = try Calls(redis.client)
        try finish(Self.tasks(warmUp), calls)
        let tasks = Self.tasks(count)
        let sample = try redis.meter(sends: count) { try finish(tasks, calls) }
        guard try redis.client.send("GET", Calls.processed) == .text("\(warmUp + count)") else {
            throw BenchError.failed("\(name): not every task was counted")
        }
        return sample
    }

    private static func tasks(_ count: Int) -> [(id: String, message: String)] {
        (0..<count).map { (UUID().uuidString.lowercased(), Payload.body(token: Payload.token($0))) }
    }

    private func finish(_ tasks: [(id: String, message: String)], _ calls: Calls) throws {
        for task in tasks { try calls.enqueue(task.id, task.message) }
        for task in tasks {
            guard try calls.dequeue() == .text(task.message) else {
                throw BenchError.failed("\(name): a task is missing")
            }
            try calls.done(task.id)
        }
    }

    /// The scripts with their keys and arguments.
    private struct Calls {
        private static let queue = "asynq:{\(Sink.project)}:"
        static let processed = queue + "processed"
        private static let (pending, active, lease) = (queue + "pending", queue + "active", queue + "lease")

        private let client: RESPClient
        private let enqueueScript: String
        private let dequeueScript: String
        private let doneScript: String

        init(_ client: RESPClient) throws {
            func load(_ script: String) throws -> String {
                guard case .text(let digest) = try client.send("SCRIPT", "LOAD", script) else {
                    throw BenchError.failed("Redis loads no script")
                }
                return digest
            }
            self.client = client
            enqueueScript = try load(AsynqRival.enqueue)
            dequeueScript = try load(AsynqRival.dequeue)
            doneScript = try load(AsynqRival.done)
        }

        func enqueue(_ id: String, _ message: String) throws {
            let now = Int(Date().timeIntervalSince1970 * 1e9)
            try client.send("EVALSHA", enqueueScript, "2", Self.task(id), Self.pending, message, id, "\(now)")
        }

        /// The message of the task that became active.
        func dequeue() throws -> RESPClient.Value {
            let end = Int(Date().timeIntervalSince1970) + 30
            return try client.send(
                "EVALSHA",
                dequeueScript,
                "4",
                Self.pending,
                Self.queue + "paused",
                Self.active,
                Self.lease,
                "\(end)",
                Self.task("")
            )
        }

        func done(_ id: String) throws {
            let now = Date().timeIntervalSince1970
            let (day, end) = (Int(now / 86_400), Int(now) + 90 * 86_400)
            try client.send(
                "EVALSHA",
                doneScript,
                "5",
                Self.active,
                Self.lease,
                Self.task(id),
                "\(Self.processed):\(day)",
                Self.processed,
                id,
                "\(end)",
                "\(Int.max)"
            )
        }

        private static func task(_ id: String) -> String { "\(queue)t:\(id)" }
    }
}
