internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire
internal import XMPPTransport

/// Writes what devices send to the upstream stream, and acknowledges it to FCM. ``UpstreamBuffer`` decides when.
final class UpstreamQueue {
    private let project: ProjectContext
    private var buffer = UpstreamBuffer()
    private var messages: [Int: (command: RedisCommand, reply: XMPPReply)] = [:]
    private var nextID = 0
    private var failureReports = LogThrottle(seconds: 10)

    init(project: ProjectContext) { self.project = project }

    func append(_ incoming: XMPPIncoming, _ reply: XMPPReply) {
        nextID += 1
        let command = entry(incoming)
        messages[nextID] = (command, reply)
        handle(.received(id: nextID, isConnected: isConnected))
    }

    private var isConnected: Bool { project.redis.state == .ready }

    /// Adds an entry to the upstream stream, with the fields of the page "Results".
    private func entry(_ incoming: XMPPIncoming) -> RedisCommand {
        var command = RedisCommand("XADD", project.keys.upstream, "*")
        func append(_ name: String, _ value: String) {
            command.append(name)
            command.append(value)
        }
        switch incoming.kind {
        case .message: append("type", "message")
        case .receipt: append("type", "receipt")
        }
        append("from", incoming.from)
        append("category", incoming.category)
        append("message_id", incoming.messageID)
        command.append("data")
        command.append(incoming.data)
        append("received_ms", String(project.wallMs))
        guard case .receipt(let status, let original, let token, _) = incoming.kind else { return command }
        append("status", status)
        append("original_message_id", original)
        append("token", token)
        guard let ours = XMPPMessageID(parsing: original) else { return command }
        append("job", ours.job)
        append("i", String(ours.index))
        return command
    }

    private func handle(_ event: UpstreamBuffer.Event) {
        var actions: [UpstreamBuffer.Action] = []
        buffer.handle(event, into: &actions)
        for action in actions {
            switch action {
            case .write(let id): write(id)
            case .acknowledge(let id): messages.removeValue(forKey: id)?.reply.acknowledge()
            case .giveBack(let id): messages.removeValue(forKey: id)?.reply.giveBack()
            case .wait(let milliseconds):
                project.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
                    guard let self else { return }
                    handle(.waited(isConnected: isConnected))
                }
            }
        }
    }

    private func write(_ id: Int) {
        guard let message = messages[id] else { return }
        project.redis.write(message.command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success: handle(.written(id: id))
            case .failure(let error):
                report(error)
                handle(.failed(id: id))
            }
        }
    }

    private func report(_ error: RedisError) {
        guard failureReports.admits(now: project.loop.now) else { return }
        project.logger.warning(
            "Upstream messages could not be written. They are written and acknowledged later.",
            metadata: ["error": "\(error)", "waiting": "\(buffer.count)"]
        )
    }
}
