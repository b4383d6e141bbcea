internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Writes flushes to Redis, the only way back from the data path.
///
/// A flush whose answer was lost is sent again as it was; the function answers the same. Results that Redis confirmed are
/// kept for a few seconds, because a server that is replaced may have lost them.
final class FlushWriter {
    private let project: ProjectContext
    private var unanswered: [UInt64: Flush] = [:]
    private var nextID: UInt64 = 1
    private(set) var replayBuffer: ReplayBuffer
    private var complaints = LogThrottle(seconds: 10)
    /// Whether flushes wait for the comparison with Redis after a new connection. A flush before it would make an older
    /// state look like the newest, and the results that this state lacks would be lost.
    private var isCut = true

    var onAnswer: (SendEvent) -> Void = { _ in }
    /// Called when Redis confirmed a flush: sends may begin, or a batch has closed.
    var onConfirmed: () -> Void = {}

    /// Results and retries up to which a flush is sent together with others.
    private static let mostCoalesced = 8
    private static let retryMs: Int64 = 100
    private static let unreadableRetryMs: Int64 = 1_000

    /// - Parameter replayBuffer: the results that an earlier runner of the project kept.
    init(project: ProjectContext, replayBuffer: ReplayBuffer? = nil) {
        self.project = project
        self.replayBuffer = replayBuffer ?? ReplayBuffer(awaitsReplicas: project.configuration.awaitsReplicas)
    }

    var isIdle: Bool { unanswered.isEmpty }

    func write(_ flush: Flush) {
        let id = nextID
        nextID += 1
        unanswered[id] = flush
        send(id)
    }

    private func send(_ id: UInt64) {
        guard !isCut, let flush = unanswered[id] else { return }
        let call = flush.call
        let command = call.command(
            project.keys,
            worker: project.leaseName,
            nowMs: project.workerClockMs,
            indexesTokens: project.configuration.indexesTokens
        )
        let completion: ProjectConnection.Completion = { [weak self] result in self?.completed(id, result) }
        // A call with few results costs little besides the part that all calls share.
        if call.results.count + call.retries.count <= Self.mostCoalesced {
            project.redis.append(command, as: .record, completion)
        } else {
            project.redis.write(command, completion)
        }
    }

    private func completed(_ id: UInt64, _ result: Result<RedisValue, RedisError>) {
        switch result {
        case .failure(let error):
            complain(error)
            project.meters.redisFailed()
            // After a lost connection ``reconnected(isSameServer:reconcile:)`` sends everything again; an error reply left
            // the connection as it was.
            guard project.redis.state == .ready, error.code != .connectionLost, error.code != .timeout else { return }
            sendAgain(id, afterMs: Self.retryMs)
        case .success(let value):
            guard let reply = RecordReply(value) else {
                project.logger.error(
                    "Redis answered a flush in a form that this version does not know; it is written again.",
                    metadata: ["remedy": "give every worker the same version"]
                )
                return sendAgain(id, afterMs: Self.unreadableRetryMs)
            }
            guard let flush = unanswered.removeValue(forKey: id) else { return }
            if case .ok = reply { replayBuffer.append(flush, now: project.loop.now) }
            onAnswer(.flushed(flush, reply))
            onConfirmed()
        }
    }

    private func sendAgain(_ id: UInt64, afterMs: Int64) {
        project.loop.schedule(afterMilliseconds: afterMs) { [weak self] in self?.send(id) }
    }

    /// Transient errors are logged at debug level; permanent ones, such as a missing right, need an operator.
    private func complain(_ error: RedisError) {
        guard !error.isTransient, complaints.admits(now: project.loop.now) else {
            return project.logger.debug("A flush was not answered.", metadata: ["error": "\(error)"])
        }
        project.logger.error(
            "Redis does not take results; they are kept and written again.",
            metadata: ["error": "\(error)"]
        )
    }

    // MARK: Connections

    func disconnected() { isCut = true }

    /// Writes again, in order, what was not answered on the connection before.
    ///
    /// - Parameters:
    ///   - isSameServer: false if Redis may have forgotten its last seconds: the results that it confirmed then are written
    ///     again.
    ///   - reconcile: compares this worker's batches with Redis; called after the results that Redis may have forgotten,
    ///     and before the flushes that would make an older state look like the newest.
    func reconnected(isSameServer: Bool, reconcile: () -> Void) {
        let unconfirmed = unanswered.keys.sorted()
        isCut = false
        if !isSameServer {
            for flush in replayBuffer.removeAll() { onAnswer(.replay(flush)) }
        }
        reconcile()
        for id in unconfirmed { send(id) }
    }

    /// Checks whether a replica has everything that was confirmed so far. Redis blocks this connection for up to 20 ms.
    func checkReplicas() {
        guard project.redis.state == .ready, !isCut else { return }
        let sentAt = project.loop.now
        project.redis.send(RedisCommand("WAIT", "1", "20")) { [weak self] result in
            if case .success(.integer(1...)) = result { self?.replayBuffer.markReplicated(upTo: sentAt) }
        }
    }
}
