internal import EventLoop
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Writes that sends and results rest on. With the `safe` profile each counts only when replicas have confirmed it, so
/// that a failover cannot forget a mark that a send relied on; see <doc:Guarantees>. Small calls of one function leave
/// together.
final class CommandCoalescer {
    typealias Completion = RedisConnection.Completion

    private let loop: EventLoop
    private let redis: ProjectConnection
    private let keys: ProjectKeys
    private let replicas: Int
    private let logger: Logger
    private var lastComplaint: UInt64 = 0
    /// Calls of one function that leave together.
    private var gathered: [(call: RedisCommand, completion: Completion)] = []
    private var gatheredFunction = FunctionLibrary.Gathered.intake
    private var gatheredBytes = 0

    /// Called when Redis lacks a function, or has the library of an older worker.
    var onFunctionsMissing: () -> Void = {}
    /// Called when Redis refuses a write of the project.
    var onRefused: (RedisError) -> Void = { _ in }

    /// How long one question to the replicas may take, in milliseconds. It is asked again until they answer.
    private static let waitMs = 1_000
    /// Calls that may leave together, and their bytes: for so many Redis is busy for two to four milliseconds, in which
    /// nobody else is served.
    private static let mostGathered = 32
    private static let mostBytes = 24_576
    /// Bytes from which a call leaves by itself: what calls share is little beside what such a one says.
    private static let large = 4_096

    init(loop: EventLoop, redis: ProjectConnection, keys: ProjectKeys, replicas: Int, logger: Logger) {
        self.loop = loop
        self.redis = redis
        self.keys = keys
        self.replicas = replicas
        self.logger = logger
        redis.beforeSend = { [weak self] in self?.sendGathered() }
    }

    /// Sends a call with others of its function that are made before the loop's timers run next, in their order, and before
    /// whatever is sent after it.
    ///
    /// - Parameter completion: as for ``send(_:_:)``.
    func append(_ call: RedisCommand, as function: FunctionLibrary.Gathered, _ completion: @escaping Completion) {
        guard call.byteCount < Self.large else { return send(call, completion) }
        if function != gatheredFunction || gathered.count >= Self.mostGathered
            || gatheredBytes + call.byteCount > Self.mostBytes
        {
            sendGathered()
        }
        // A timer, not a hook of the turn's end: in those, too, calls are made, and they may come after one of ours.
        if gathered.isEmpty { loop.schedule(afterNanoseconds: 0) { [weak self] in self?.sendGathered() } }
        gatheredFunction = function
        gathered.append((call, completion))
        gatheredBytes += call.byteCount
    }

    private func sendGathered() {
        // Sending comes by here again, by `beforeSend`, and finds nothing left.
        guard let first = gathered.first else { return }
        let calls = gathered
        gathered.removeAll(keepingCapacity: true)
        gatheredBytes = 0
        guard calls.count > 1 else { return send(first.call, first.completion) }
        send(FunctionLibrary.together(gatheredFunction, keys, calls.map(\.call))) { [weak self] result in
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

    /// - Parameter completion: called in the order of the calls; a failure after the write may mean that it was applied.
    func send(_ command: RedisCommand, _ completion: @escaping Completion) {
        let completion: Completion = { [weak self] result in
            if case .failure(let error) = result {
                if error.code == .functionNotFound { self?.onFunctionsMissing() } else { self?.onRefused(error) }
            }
            completion(result)
        }
        guard replicas > 0 else { return redis.send(command, completion) }
        var written: Result<RedisValue, RedisError>?
        redis.send(command) { written = $0 }
        confirm { [weak self] failure in
            guard self != nil, let written else { return }
            completion(failure.map { .failure($0) } ?? written)
        }
    }

    private func confirm(_ completion: @escaping (RedisError?) -> Void) {
        redis.send(RedisCommand("WAIT", String(replicas), String(Self.waitMs))) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(error)
            case .success(let value):
                if (value.integer ?? 0) >= Int64(replicas) { return completion(nil) }
                complain(value.integer ?? 0)
                // The write is there and must not be made again: only the question is repeated.
                confirm(completion)
            }
        }
    }

    private func complain(_ count: Int64) {
        guard lastComplaint == 0 || loop.now > lastComplaint + 10_000_000_000 else { return }
        lastComplaint = loop.now
        logger.error(
            "Too few replicas confirm what is written, so nothing is sent: bring them back, or configure the fast profile.",
            metadata: ["confirmed": "\(count)", "wanted": "\(replicas)"]
        )
    }
}
