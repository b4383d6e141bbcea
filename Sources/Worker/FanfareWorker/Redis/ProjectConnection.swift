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
    /// Calls that will be sent together, by their function.
    private let intakes = Pile()
    private let records = Pile()

    private final class Pile {
        var calls: [RedisCommand] = []
        /// Of each call.
        var completions: [Completion] = []
        var weight = 0
        /// Calls of several that Redis has not answered.
        var inFlight = 0
    }

    /// Called when Redis refuses a write of the project.
    var onRefused: (RedisError) -> Void = { _ in }

    /// Timeout of one WAIT, in milliseconds. It is repeated until the replicas confirm.
    private static let waitMs = 1_000
    /// The weight of calls that are sent together: Redis needs about two milliseconds for them, in which it serves no other
    /// client. A call weighs 64 and a tenth of its bytes, a short one half as much.
    private static let maximumWeight = 64 * 64
    /// Unanswered calls of a function with which another waits to be fuller: two keep Redis and this worker busy at once.
    private static let maximumInFlight = 2
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

    /// Writes together with other calls of its function: with the loop's next timers, or once Redis has answered the calls
    /// before it, so that calls are the fuller the busier Redis is. The order of calls of a function stays, and that of all
    /// calls and later commands.
    func append(_ call: RedisCommand, as function: FunctionLibrary.Coalesced, _ completion: @escaping Completion) {
        guard call.isShort || call.byteCount < Self.large else { return write(call, completion) }
        let pile = pile(function)
        let weight = (64 + call.byteCount / 10) / (call.isShort ? 2 : 1)
        if pile.weight + weight > Self.maximumWeight { flush(function) }
        if pile.calls.isEmpty, pile.inFlight < Self.maximumInFlight { flushSoon(function) }
        pile.calls.append(call)
        pile.completions.append(completion)
        pile.weight += weight
    }

    private func pile(_ function: FunctionLibrary.Coalesced) -> Pile { function == .intake ? intakes : records }

    /// By a timer, because hooks at the end of the turn append calls, too, and may run after a hook of this class.
    private func flushSoon(_ function: FunctionLibrary.Coalesced) {
        loop.schedule(afterNanoseconds: 0) { [weak self] in self?.flush(function) }
    }

    private func flush() {
        flush(.intake)
        flush(.record)
    }

    private func flush(_ function: FunctionLibrary.Coalesced) {
        let pile = pile(function)
        guard let first = pile.calls.first else { return }
        // `write` calls this once more, by `send`, and finds nothing left.
        let (calls, completions) = (pile.calls, pile.completions)
        (pile.calls, pile.completions, pile.weight) = ([], [], 0)
        pile.inFlight += 1
        guard calls.count > 1 || first.isShort else {
            return write(first) { [weak self] result in
                self?.answered(function)
                completions[0](result)
            }
        }
        write(FunctionLibrary.coalesce(function, keys, calls)) { [weak self] result in
            self?.answered(function)
            guard case .success(let value) = result else { return completions.forEach { $0(result) } }
            let answers = value.array ?? []
            for (index, completion) in completions.enumerated() {
                let answer = index < answers.count ? answers[index] : .null
                if case .error(let line) = answer {
                    let error = RedisError(reply: line)
                    self?.onRefused(error)
                    completion(.failure(error))
                } else {
                    completion(.success(answer))
                }
            }
        }
    }

    private func answered(_ function: FunctionLibrary.Coalesced) {
        let pile = pile(function)
        pile.inFlight -= 1
        if pile.inFlight < Self.maximumInFlight, !pile.calls.isEmpty { flushSoon(function) }
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
