internal import RedisTransport
internal import StreamWire

/// Sends a project's commands on a connection that other projects may share. Calls that ``CommandCoalescer`` holds are
/// sent before any later command, so that Redis receives all of them in order.
final class ProjectConnection {
    private let connection: RedisConnection
    /// Called before each command; ``CommandCoalescer`` sends its calls then.
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
