internal import EventLoop

/// Open connections to all Sentinels, over which each is asked for the primary. A slow Sentinel is not asked again
/// before it has answered; the connection to one that is away reconnects by itself.
final class SentinelPanel {
    /// Called with each answer; nil if the Sentinel is away or names no primary.
    typealias AnswerHandler = (_ sentinel: Int, SentinelAnswer?) -> Void

    private let primary: String
    private var connections: [RedisConnection] = []
    private var isAsked: [Bool]
    private let onAnswer: AnswerHandler

    init(
        loop: EventLoop,
        sentinels: [RedisEndpoint],
        primary: String,
        tls: TLSOptions,
        onAnswer: @escaping AnswerHandler
    ) {
        self.primary = primary
        self.onAnswer = onAnswer
        isAsked = sentinels.map { _ in false }
        var timeouts = RedisTimeouts()
        timeouts.connectMs = 2_000
        timeouts.commandMs = 1_000
        timeouts.maximumBackoffMs = 1_000
        connections = sentinels.map {
            RedisConnection(
                loop: loop,
                deployment: RedisDeployment($0),
                name: "fanfare-watch",
                tls: tls,
                timeouts: timeouts
            )
        }
        for (index, connection) in connections.enumerated() {
            connection.onStateChange = { [weak self] state in
                if state == .ready { self?.ask(index) } else { self?.onAnswer(index, nil) }
            }
        }
        for connection in connections { connection.connect() }
    }

    func askAll() {
        for index in connections.indices { ask(index) }
    }

    func close() {
        let all = connections
        connections = []
        for connection in all { connection.close() }
    }

    private func ask(_ index: Int) {
        guard connections.indices.contains(index), !isAsked[index], connections[index].state == .ready else { return }
        isAsked[index] = true
        SentinelAnswer.request(over: connections[index], primary: primary) { [weak self] result in
            guard let self else { return }
            isAsked[index] = false
            if !connections.isEmpty { onAnswer(index, try? result.get()) }
        }
    }
}
