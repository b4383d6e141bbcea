internal import FanfareClient
internal import Logging
internal import NIOConcurrencyHelpers
internal import StreamWire

/// Whether a gateway works, and whether it can serve. Any thread may read it.
public final class GatewayHealth: Sendable {
    private struct State {
        var lastBeatNs: UInt64
        var isRedisThere = false
        var isStopping = false
    }

    private let state: NIOLockedValueBox<State>
    private let nowNs: @Sendable () -> UInt64

    public init(nowNs: @escaping @Sendable () -> UInt64) {
        self.nowNs = nowNs
        state = NIOLockedValueBox(State(lastBeatNs: nowNs()))
    }

    /// Milliseconds since the last beat of the gateway's tasks, which comes once a second.
    public var silentMs: Int64 {
        let lastNs = state.withLockedValue { $0.lastBeatNs }
        return Int64((nowNs() &- lastNs) / 1_000_000)
    }

    public var isRedisThere: Bool { state.withLockedValue { $0.isRedisThere } }
    public var isStopping: Bool { state.withLockedValue { $0.isStopping } }
    /// Whether requests are served.
    public var isReady: Bool { state.withLockedValue { $0.isRedisThere && !$0.isStopping } }

    /// Shows that the process works. A start that waits for Redis calls it; a running gateway does so by itself.
    public func beat() { state.withLockedValue { $0.lastBeatNs = nowNs() } }

    func stop() { state.withLockedValue { $0.isStopping = true } }

    /// Asks Redis once a second whether it is there, until the task is cancelled. Logs changes only.
    func watch(_ redis: CountedRedis, _ meters: GatewayMetrics, _ logger: Logger) async {
        // Redis may leave a command open for seconds.
        async let beating: Void = keepBeating()
        var isKnown: Bool?
        while !Task.isCancelled {
            let isThere = (try? await redis.reply(to: RedisCommand("PING"))) != nil
            state.withLockedValue { $0.isRedisThere = isThere }
            meters.setRedisConnected(isThere)
            if isKnown == false, isThere { logger.notice("Redis answers again.") }
            if isKnown != false, !isThere, !Task.isCancelled {
                logger.warning("Redis does not answer: requests get 503.")
            }
            isKnown = isThere
            try? await Task.sleep(for: .seconds(1))
        }
        await beating
    }

    private func keepBeating() async {
        while !Task.isCancelled {
            beat()
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

/// A connection to Redis whose errors are counted.
struct CountedRedis: RedisSending {
    let redis: any RedisSending
    let meters: GatewayMetrics

    func reply(to command: RedisCommand) async throws -> RedisValue {
        do {
            return try await redis.reply(to: command)
        } catch {
            meters.redisFailed()
            throw error
        }
    }
}
