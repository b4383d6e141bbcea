internal import EventLoop
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire
internal import XMPPTransport

/// What a project's XMPP connections share with the rest of the fleet: leave to open one more, and what devices send up,
/// which FCM hears of only when Redis has it.
final class XMPPLink {
    /// What Redis was told last, and what it would have to be told anew for: it forgets a worker that was declared dead,
    /// and one that came back may have lost what the last connection wrote.
    private struct Told: Equatable {
        var name: String
        var connection: Int
        var count: Int
    }

    private static let readinessMs: Int64 = 50
    private static let watchMs: Int64 = 1_000

    private let project: ProjectContext
    private let credential: ServerKeyCredential
    private let upstream: UpstreamQueue
    private var connections = 0
    private var isTelling = false
    /// Nil when nobody knows what Redis believes.
    private var told: Told?

    init(project: ProjectContext, pool: XMPPPool, credential: ServerKeyCredential) {
        self.project = project
        self.credential = credential
        upstream = UpstreamQueue(project: project)
        pool.leaveToConnect = { [weak self] completion in
            guard let self else { return completion(false) }
            askToConnect(completion)
        }
        pool.onConnections = { [weak self] count in
            self?.connections = count
            self?.tellConnections()
        }
        pool.onIncoming = { [weak self] incoming, reply in self?.upstream.append(incoming, reply) }
        pool.onRefusedCredential = { [weak self] reason in self?.refused(reason) }
        pool.onReady = { [weak self] in self?.accepted() }
        pool.onTrouble = { [weak self] text in
            self?.project.logger.warning("XMPP has trouble.", metadata: ["trouble": "\(text)"])
        }
        watch()
    }

    // MARK: Connections

    /// - Parameter completion: called when Redis has said so, or the worker ends. Until Redis can be asked nothing has
    ///   failed, and a refusal would cost the pool a pause of seconds.
    private func askToConnect(_ completion: @escaping (Bool) -> Void) {
        guard !project.isDraining else { return completion(false) }
        guard project.redis.state == .ready, project.leaseHolds else {
            return askToConnect(afterMs: Self.readinessMs, completion)
        }
        let now = Told(name: project.leaseName, connection: project.connection, count: connections)
        let command = FunctionLibrary.connect(project.keys, worker: now.name, open: now.count, wantsMore: true)
        project.redis.send(command) { [weak self] result in
            guard let self else { return completion(false) }
            guard case .success(let value) = result, let waitMs = value.integer else {
                told = nil
                // Asked again when it is back; an error is an answer.
                guard project.redis.state == .ready else {
                    return askToConnect(afterMs: Self.readinessMs, completion)
                }
                return completion(false)
            }
            told = now
            guard waitMs > 0 else {
                told?.count += 1
                return completion(true)
            }
            askToConnect(afterMs: min(waitMs, 1_000), completion)
        }
    }

    private func askToConnect(afterMs delay: Int64, _ completion: @escaping (Bool) -> Void) {
        project.loop.schedule(afterMilliseconds: delay) { [weak self] in
            guard let self else { return completion(false) }
            askToConnect(completion)
        }
    }

    /// Redis counts the connections of all workers: one that is gone makes room for another's.
    private func tellConnections() {
        guard !isTelling, project.redis.state == .ready, project.leaseHolds else { return }
        let now = Told(name: project.leaseName, connection: project.connection, count: connections)
        guard now != told else { return }
        isTelling = true
        let command = FunctionLibrary.connect(project.keys, worker: now.name, open: now.count, wantsMore: false)
        project.redis.send(command) { [weak self] result in
            guard let self else { return }
            isTelling = false
            // Anything but 0: this worker has no lease there, and nothing was written.
            guard case .success(let value) = result, value.integer == 0 else {
                told = nil
                return
            }
            told = now
            tellConnections()
        }
    }

    /// After a call that failed, a new lease or a new connection nothing else would tell it.
    private func watch() {
        project.loop.schedule(afterMilliseconds: Self.watchMs) { [weak self] in
            guard let self else { return }
            tellConnections()
            watch()
        }
    }

    // MARK: The credential

    private func refused(_ reason: String) {
        project.logger.error(
            "FCM lets nobody in over XMPP: check sender_id and the server key.",
            metadata: ["reason": "\(reason)"]
        )
        credential.refusal = Failure(error: .unspecified, action: .fixCredentials, rawError: reason, httpStatus: 401)
    }

    private func accepted() {
        guard credential.refusal != nil else { return }
        project.logger.notice("FCM accepts sender_id and the server key again.")
        credential.refusal = nil
    }
}
