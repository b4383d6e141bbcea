internal import RedisTransport
internal import StreamWire

/// What the drivers use of a connection to Redis. A worker has ``RedisConnection``; a test answers by hand.
protocol CommandConnection: AnyObject {
    var state: RedisState { get }
    var endpoint: RedisEndpoint { get }
    var limits: RedisLimits { get set }
    var sentinelState: SentinelState? { get }
    var onStateChange: (RedisState) -> Void { get set }
    var onFunctionMissing: () -> Void { get set }
    func connect()
    func close()
    /// See `RedisConnection.send`. A command that is sent while the connection is not ready fails at once.
    func send(_ command: RedisCommand, timeoutMs: Int64?, _ completion: @escaping RedisConnection.Completion)
    func writeNow()
}

extension CommandConnection {
    func send(_ command: RedisCommand, _ completion: @escaping RedisConnection.Completion) {
        send(command, timeoutMs: nil, completion)
    }
}

extension RedisConnection: CommandConnection {}
