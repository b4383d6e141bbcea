internal import EventLoop
internal import OpenSSLKit
internal import StreamWire

/// Asks several servers one question at once, over connections that live no longer than that: one that does not answer
/// holds up nobody.
final class ServerPoll<Answer> {
    typealias Heard = (Result<Answer, RedisError>) -> Void

    private let loop: EventLoop
    private let servers: [RedisEndpoint]
    private let heard: (RedisEndpoint, Result<Answer, RedisError>) -> Void
    private var connections: [Int: RedisConnection] = [:]
    private var timers: [TimerID] = []
    private var hasFailed = false

    /// How long the others have once a server has said why it cannot answer, in milliseconds: what is down is asked again
    /// sooner when a poll is over.
    private static var afterFailureMs: Int64 { 1_000 }

    /// - Parameters:
    ///   - patienceMs: how long whoever asks waits, in milliseconds. What has not answered is given up a little before, so
    ///     that the reason says which.
    ///   - ask: asks the server behind a connection that is ready.
    ///   - heard: called once for each server, in the order of their answers, unless ``close()`` comes first.
    init(
        loop: EventLoop,
        servers: [RedisEndpoint],
        tls: TLSOptions,
        patienceMs: Int64,
        ask: @escaping (RedisConnection, @escaping Heard) -> Void,
        random: @escaping () -> Double,
        heard: @escaping (RedisEndpoint, Result<Answer, RedisError>) -> Void
    ) {
        self.loop = loop
        self.servers = servers
        self.heard = heard
        var timeouts = RedisTimeouts()
        timeouts.connectMs = patienceMs
        timeouts.commandMs = patienceMs
        for (index, server) in servers.enumerated() {
            let connection = RedisConnection(
                loop: loop,
                endpoint: server,
                name: "fanfare-locate",
                tls: tls,
                timeouts: timeouts,
                random: random
            )
            connections[index] = connection
            connection.onStateChange = { [weak self] state in
                switch state {
                case .connecting, .closed: break
                case .ready:
                    if let ready = self?.connections[index] { ask(ready) { self?.finish(index, $0) } }
                case .unavailable(let error), .failed(let error): self?.finish(index, .failure(error))
                }
            }
        }
        giveUp(afterMilliseconds: patienceMs / 10 * 9)
        // Not while they are made: an answer may come at once, and close what is not there yet.
        for index in servers.indices { connections[index]?.connect() }
    }

    func close() {
        for timer in timers { loop.cancel(timer) }
        timers = []
        let all = connections.values
        connections = [:]
        for connection in all { connection.close() }
    }

    private func giveUp(afterMilliseconds milliseconds: Int64) {
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
            giveUp(afterMilliseconds: Self.afterFailureMs)
        }
        heard(servers[index], result)
    }
}
