internal import EventLoop
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Sends a project's commands on a connection that other projects may share. Redis receives them in order, small calls of
/// one function together.
///
/// With the `safe` profile a write succeeds only when replicas have confirmed it. So a failover cannot forget a watermark
/// that a send relied on; see the page Guarantees.
final class ProjectConnection {
    typealias Completion = RedisConnection.Completion

    private let loop: EventLoop
    private let connection: any CommandConnection
    private let keys: ProjectKeys
    private let replicas: Int
    private let logger: Logger
    private var replicaReports = LogThrottle(seconds: 10)
    /// Calls of one function that will be sent together.
    private var calls: [(call: RedisCommand, completion: Completion)] = []
    private var function = FunctionLibrary.Coalesced.intake
    private var bytes = 0

    /// Called when Redis refuses a write of the project.
    var onRefused: (RedisError) -> Void = { _ in }

    /// Timeout of one WAIT, in milliseconds. It is repeated until the replicas confirm.
    private static let waitMs = 1_000
    /// Calls that are sent together, and their bytes: Redis needs two to four milliseconds for them, in which it serves
    /// no other client.
    private static let maximumCalls = 32
    private static let maximumBytes = 24_576
    /// Bytes from which a call is sent by itself: it would save little.
    private static let large = 4_096

    /// - Parameter replicas: how many have to confirm a write; 0 without the `safe` profile.
    init(_ connection: any CommandConnection, loop: EventLoop, keys: ProjectKeys, replicas: Int, logger: Logger) {
        self.connection = connection
        self.loop = loop
        self.keys = keys
        self.replicas = replicas
        self.logger = logger
    }

    var state: RedisState { connection.state }

    /// Sends every command so far before the turn ends; see `RedisConnection.writeNow`.
    func writeNow() {
        flush()
        connection.writeNow()
    }

    /// See `RedisConnection.send`. For reads, and for writes on which no send and no result depends.
    func send(_ command: RedisCommand, timeoutMs: Int64? = nil, _ completion: @escaping Completion) {
        flush()
        connection.send(command, timeoutMs: timeoutMs, completion)
    }

    /// Writes together with other calls of its function, at the latest when the loop's timers run next. The order of calls
    /// and of later commands stays.
    func append(_ call: RedisCommand, as function: FunctionLibrary.Coalesced, _ completion: @escaping Completion) {
        guard call.byteCount < Self.large else { return write(call, completion) }
        let isFull = calls.count >= Self.maximumCalls || bytes + call.byteCount > Self.maximumBytes
        if function != self.function || isFull { flush() }
        // A timer, because hooks at the end of the turn append calls, too, and may run after a hook of this class.
        if calls.isEmpty { loop.schedule(afterNanoseconds: 0) { [weak self] in self?.flush() } }
        self.function = function
        calls.append((call, completion))
        bytes += call.byteCount
    }

    private func flush() {
        // `write` calls this once more, by `send`, and finds nothing left.
        guard let first = calls.first else { return }
        let calls = calls
        self.calls.removeAll(keepingCapacity: true)
        bytes = 0
        guard calls.count > 1 else { return write(first.call, first.completion) }
        write(FunctionLibrary.coalesce(function, keys, calls.map(\.call))) { [weak self] result in
            let answers = (try? result.get())?.array ?? []
            for (index, call) in calls.enumerated() {
                switch (result, answers.indices.contains(index) ? answers[index] : .null) {
                case (.failure, _): call.completion(result)
                case (.success, .error(let line)):
                    let error = RedisError(reply: line)
                    self?.onRefused(error)
                    call.completion(.failure(error))
                case (.success, let answer): call.completion(.success(answer))
                }
            }
        }
    }

    /// Writes, and waits for the replicas of the `safe` profile.
    ///
    /// - Parameter completion: called in the order of the calls; a failure after the write may mean that it was applied.
    func write(_ command: RedisCommand, _ completion: @escaping Completion) {
        let completion: Completion = { [weak self] result in
            if case .failure(let error) = result, error.code != .functionNotFound { self?.onRefused(error) }
            completion(result)
        }
        guard replicas > 0 else { return send(command, completion) }
        var written: Result<RedisValue, RedisError>?
        send(command) { written = $0 }
        confirm { [weak self] failure in
            guard self != nil, let written else { return }
            completion(failure.map { .failure($0) } ?? written)
        }
    }

    private func confirm(_ completion: @escaping (RedisError?) -> Void) {
        send(RedisCommand("WAIT", String(replicas), String(Self.waitMs))) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(error)
            case .success(let value):
                if (value.integer ?? 0) >= Int64(replicas) { return completion(nil) }
                report(value.integer ?? 0)
                // The write is done and must not be repeated: only WAIT is.
                confirm(completion)
            }
        }
    }

    /// - Parameter count: replicas that confirmed.
    private func report(_ count: Int64) {
        guard replicaReports.admits(now: loop.now) else { return }
        logger.error(
            "Too few replicas confirm writes, so nothing is sent: bring them back, or configure the fast profile.",
            metadata: ["confirmed": "\(count)", "wanted": "\(replicas)"]
        )
    }
}
