internal import EventLoop

/// Asks several servers one question at once, over connections that are closed after the answers. A server that does not
/// answer delays no other.
final class ServerPoll<Answer> {
    typealias Completion = (Result<Answer, RedisError>) -> Void

    private let loop: EventLoop
    private let servers: [RedisEndpoint]
    private let onAnswer: (RedisEndpoint, Result<Answer, RedisError>) -> Void
    private var connections: [Int: RedisConnection] = [:]
    private var timers: [TimerID] = []
    private var hasFailed = false

    /// After the first failure, wait this long for the other servers (ms). A short poll lets the next one start early.
    private static var afterFailureMs: Int64 { 1_000 }

    /// - Parameters:
    ///   - patienceMs: how long the caller waits, in milliseconds. A server that has not answered fails a little before, so
    ///     that the reason names it.
    ///   - request: asks the server of a connection that is ready.
    ///   - onAnswer: called once for each server, in the order of their answers, unless ``close()`` comes first.
    init(
        loop: EventLoop,
        servers: [RedisEndpoint],
        tls: TLSOptions,
        patienceMs: Int64,
        request: @escaping (RedisConnection, @escaping Completion) -> Void,
        onAnswer: @escaping (RedisEndpoint, Result<Answer, RedisError>) -> Void
    ) {
        self.loop = loop
        self.servers = servers
        self.onAnswer = onAnswer
        var timeouts = RedisTimeouts()
        timeouts.connectMs = patienceMs
        timeouts.commandMs = patienceMs
        for (index, server) in servers.enumerated() {
            let connection = RedisConnection(
                loop: loop,
                deployment: RedisDeployment(server),
                name: "fanfare-locate",
                tls: tls,
                timeouts: timeouts
            )
            connections[index] = connection
            connection.onStateChange = { [weak self] state in
                switch state {
                case .connecting, .closed: break
                case .ready:
                    if let ready = self?.connections[index] { request(ready) { self?.finish(index, $0) } }
                case .unavailable(let error), .failed(let error): self?.finish(index, .failure(error))
                }
            }
        }
        failOpen(afterMilliseconds: patienceMs / 10 * 9)
        // After all are made: an answer may come at once and close the poll.
        for index in servers.indices { connections[index]?.connect() }
    }

    func close() {
        for timer in timers { loop.cancel(timer) }
        timers = []
        let all = connections.values
        connections = [:]
        for connection in all { connection.close() }
    }

    private func failOpen(afterMilliseconds milliseconds: Int64) {
        let timer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            let error = RedisError(.timeout, "no answer within \(milliseconds) ms")
            for index in self?.connections.keys.sorted() ?? [] { self?.finish(index, .failure(error)) }
        }
        timers.append(timer)
    }

    private func finish(_ index: Int, _ result: Result<Answer, RedisError>) {
        guard let connection = connections.removeValue(forKey: index) else { return }
        connection.close()
        if case .failure = result, !hasFailed, !connections.isEmpty {
            hasFailed = true
            failOpen(afterMilliseconds: Self.afterFailureMs)
        }
        onAnswer(servers[index], result)
    }
}
