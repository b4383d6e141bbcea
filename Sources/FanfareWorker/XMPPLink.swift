internal import EventLoop
internal import FCMWire
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire
internal import XMPPTransport

/// What a project's XMPP connections share with the rest of the fleet: leave to open one more, and what devices send up,
/// which FCM hears of only when Redis has it.
final class XMPPLink {
    private let project: ProjectContext
    private let pool: XMPPPool
    private let credential: ServerKeyCredential
    private var isTelling = false
    private var told = -1
    private var connections = 0

    init(project: ProjectContext, pool: XMPPPool, credential: ServerKeyCredential) {
        self.project = project
        self.pool = pool
        self.credential = credential
        pool.leaveToConnect = { [weak self] completion in
            guard let self else { return completion(false) }
            askToConnect(completion)
        }
        pool.onConnections = { [weak self] count in
            self?.connections = count
            self?.tellConnections()
        }
        pool.onIncoming = { [weak self] incoming, acknowledge in self?.received(incoming, acknowledge) }
        pool.onRefusedCredential = { [weak self] reason in self?.refused(reason) }
        pool.onTrouble = { [weak self] text in
            self?.project.logger.warning("XMPP has trouble.", metadata: ["trouble": "\(text)"])
        }
    }

    // MARK: Connections

    private func askToConnect(_ completion: @escaping (Bool) -> Void) {
        guard project.redis.state == .ready, project.leaseHolds, !project.isDraining, credential.refusal == nil else {
            return completion(false)
        }
        let command = FunctionLibrary.connect(
            project.keys,
            worker: project.leaseName,
            open: connections,
            wantsMore: true
        )
        project.redis.send(command) { [weak self] result in
            guard let self, case .success(let value) = result, let waitMs = value.integer else {
                return completion(false)
            }
            guard waitMs > 0 else { return completion(true) }
            project.loop.schedule(afterMilliseconds: min(waitMs, 1_000)) { [weak self] in
                guard let self else { return completion(false) }
                askToConnect(completion)
            }
        }
    }

    /// Redis counts the connections of all workers: one that is gone makes room for another's.
    private func tellConnections() {
        guard !isTelling, told != connections, project.redis.state == .ready, project.leaseHolds else { return }
        isTelling = true
        let count = connections
        let command = FunctionLibrary.connect(project.keys, worker: project.leaseName, open: count, wantsMore: false)
        project.redis.send(command) { [weak self] result in
            guard let self else { return }
            isTelling = false
            guard case .success = result else { return }
            told = count
            tellConnections()
        }
    }

    private func refused(_ reason: String) {
        project.logger.error(
            "FCM lets nobody in over XMPP: check sender_id and the server key.",
            metadata: ["reason": "\(reason)"]
        )
        credential.refusal = Failure(error: .unspecified, action: .fixCredentials, rawError: reason, httpStatus: 401)
    }

    // MARK: Upstream

    private func received(_ incoming: XMPPIncoming, _ acknowledge: @escaping () -> Void) {
        let command = UpstreamEntry.command(incoming, keys: project.keys, receivedMs: project.wallMs)
        // Not acknowledged, FCM sends it again: on another connection, to whoever has it.
        guard project.redis.state == .ready else { return }
        project.durable.send(command) { [weak self] result in
            switch result {
            case .success: acknowledge()
            case .failure(let error):
                self?.project.logger.warning(
                    "An upstream message could not be written, and is not acknowledged.",
                    metadata: ["error": "\(error)"]
                )
            }
        }
    }
}

/// An entry of the upstream stream; its fields are those of the page "Jobs".
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
