internal import EventLoop
internal import OpenSSLKit
internal import StreamWire

/// Asks several servers one question at once, over connections that live no longer than that: one that does not answer
/// holds up nobody.
final class ServerPoll {
    private var connections: [Int: RedisConnection] = [:]

    /// - Parameters:
    ///   - question: asked of each server.
    ///   - heard: called once for each server, in the order of their answers, unless ``close()`` comes first.
    init(
        loop: EventLoop,
        servers: [RedisEndpoint],
        tls: TLSOptions,
        question: RedisCommand,
        random: @escaping () -> Double,
        heard: @escaping (RedisEndpoint, Result<RedisValue, RedisError>) -> Void
    ) {
        var timeouts = RedisTimeouts()
        timeouts.connectMs = 1_000
        timeouts.commandMs = 1_000
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
                    self?.connections[index]?.send(question) { self?.finish(index, server, $0, heard) }
                case .unavailable(let error), .failed(let error):
                    self?.finish(index, server, .failure(error), heard)
                }
            }
        }
        // Not while they are made: an answer may come at once, and close what is not there yet.
        for index in servers.indices { connections[index]?.connect() }
    }

    func close() {
        let all = connections.values
        connections = [:]
        for connection in all { connection.close() }
    }

    private func finish(
        _ index: Int,
        _ server: RedisEndpoint,
        _ result: Result<RedisValue, RedisError>,
        _ heard: (RedisEndpoint, Result<RedisValue, RedisError>) -> Void
    ) {
        guard let connection = connections.removeValue(forKey: index) else { return }
        connection.close()
        heard(server, result)
    }
}
