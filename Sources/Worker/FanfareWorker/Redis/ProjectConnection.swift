internal import RedisTransport
internal import StreamWire

/// A project's commands on a connection that other projects may share. What ``CommandCoalescer`` has gathered leaves before
/// whatever is sent after it, so that Redis hears of things in the order in which they happened.
final class ProjectConnection {
    private let connection: RedisConnection
    /// ``CommandCoalescer`` sets it.
    var beforeSend: () -> Void = {}

    init(_ connection: RedisConnection) { self.connection = connection }

    var state: RedisState { connection.state }

    /// See `RedisConnection.send`.
    func send(
        _ command: RedisCommand,
        timeoutMs: Int64? = nil,
        _ completion: @escaping RedisConnection.Completion
    ) {
        beforeSend()
        connection.send(command, timeoutMs: timeoutMs, completion)
    }
}
