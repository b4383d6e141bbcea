internal import FCMWire
internal import StreamWire

/// Writes an entry of the upstream stream, with the fields of the page "Results".
enum UpstreamEntry {
    static func command(_ incoming: XMPPIncoming, keys: ProjectKeys, receivedMs: Int64) -> RedisCommand {
        var command = RedisCommand("XADD", keys.upstream, "*")
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
        append("received_ms", String(receivedMs))
        guard case .receipt(let status, let original, let token, _) = incoming.kind else { return command }
        append("status", status)
        append("original_message_id", original)
        append("token", token)
        guard let ours = XMPPMessageID(parsing: original) else { return command }
        append("job", ours.job)
        append("i", String(ours.index))
        return command
    }
}
