import EventLoop
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport

typealias Answer = Result<RedisValue, RedisError>

/// Drives one connection on its own loop through a script and records states and answers, in order.
final class ConnectionProbe: Sendable {
    struct Record: Sendable {
        var states: [RedisState] = []
        var answers: [Answer] = []
        /// When each state was entered, on the loop's clock.
        var times: [UInt64] = []
    }

    let record = Locked(Record())
    var states: [RedisState] { record.withLock { $0.states } }
    var answers: [Answer] { record.withLock { $0.answers } }

    /// - Parameters:
    ///   - onState: called at every change of state; `finish` closes the connection and ends the run.
    func run(
        _ endpoint: RedisEndpoint,
        tls: TLSOptions = TLSOptions(),
        timeouts: RedisTimeouts = RedisTimeouts(),
        limits: RedisLimits = RedisLimits(),
        seconds: Int64 = 30,
        onState: @escaping @Sendable (RedisConnection, RedisState, _ finish: @escaping () -> Void) -> Void
    ) throws {
        try runLoop(seconds: seconds) { [record] loop in
            let connection = RedisConnection(
                loop: loop,
                deployment: RedisDeployment(endpoint),
                name: "a test",
                tls: tls,
                timeouts: timeouts,
                limits: limits,
                random: { 0.5 }
            )
            let finish = {
                connection.close()
                // It holds the connection, which holds the loop: without this neither would be freed.
                connection.onStateChange = { _ in }
                loop.stop()
            }
            connection.onStateChange = { state in
                record.withLock {
                    $0.states.append(state)
                    $0.times.append(SystemClock.bootNs)
                }
                onState(connection, state, finish)
            }
            connection.connect()
        }
    }

    /// Sends the commands together once ready, and finishes with the last answer.
    func exchange(_ endpoint: RedisEndpoint, tls: TLSOptions = TLSOptions(), _ commands: [RedisCommand]) throws {
        try run(endpoint, tls: tls) { [record] connection, state, finish in
            guard state == .ready else { return }
            for command in commands {
                connection.send(command) { answer in
                    let count = record.withLock { record in
                        record.answers.append(answer)
                        return record.answers.count
                    }
                    if count == commands.count { finish() }
                }
            }
        }
    }
}

extension Result where Success == RedisValue, Failure == RedisError {
    var value: RedisValue? { try? get() }
    var error: RedisError? {
        if case .failure(let error) = self { return error }
        return nil
    }
}

extension RedisState {
    var error: RedisError? {
        switch self {
        case .unavailable(let error), .failed(let error): return error
        case .connecting, .ready, .closed: return nil
        }
    }

    var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
    var isFailed: Bool { if case .failed = self { true } else { false } }
}

extension RedisTimeouts {
    /// Short enough for tests of what happens when nothing happens.
    static func forTests(connectMs: Int64 = 5_000, commandMs: Int64 = 5_000) -> RedisTimeouts {
        var timeouts = RedisTimeouts()
        timeouts.connectMs = connectMs
        timeouts.commandMs = commandMs
        timeouts.maximumBackoffMs = 200
        return timeouts
    }
}
