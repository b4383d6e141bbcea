internal import EventLoop
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Writes that sends and results rest on. With the `safe` profile each counts only when replicas have confirmed it, so
/// that a failover cannot forget a mark that a send relied on; see <doc:Guarantees>.
final class DurableWrites {
    private let loop: EventLoop
    private let redis: RedisConnection
    private let replicas: Int
    private let logger: Logger
    private var lastComplaint: UInt64 = 0

    /// How long one question to the replicas may take, in milliseconds. It is asked again until they answer.
    private static let waitMs = 1_000

    init(loop: EventLoop, redis: RedisConnection, replicas: Int, logger: Logger) {
        self.loop = loop
        self.redis = redis
        self.replicas = replicas
        self.logger = logger
    }

    /// - Parameter completion: called in the order of the calls; a failure after the write may mean that it was applied.
    func send(_ command: RedisCommand, _ completion: @escaping (Result<RedisValue, RedisError>) -> Void) {
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
