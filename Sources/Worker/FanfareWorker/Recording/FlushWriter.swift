internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Writes flushes to Redis, the only way back from the data path, as its ``FlushTable`` says.
final class FlushWriter {
    private let project: ProjectContext
    private var table: FlushTable
    private var complaints = LogThrottle(seconds: 10)

    var onAnswer: (SendEvent) -> Void = { _ in }
    /// Called when Redis confirmed a flush: sends may begin, or a batch has closed.
    var onConfirmed: () -> Void = {}

    /// Results and retries up to which a flush is sent together with others.
    private static let maximumCoalesced = 8

    /// - Parameter replayBuffer: the results that an earlier runner of the project kept.
    init(project: ProjectContext, replayBuffer: ReplayBuffer? = nil) {
        self.project = project
        let awaitsReplicas = project.configuration.awaitsReplicas
        table = FlushTable(replayBuffer: replayBuffer ?? ReplayBuffer(awaitsReplicas: awaitsReplicas))
    }

    var isIdle: Bool { table.isEmpty }
    var replayBuffer: ReplayBuffer { table.replayBuffer }

    func write(_ flush: Flush) { send(table.add(flush)) }

    private func send(_ id: UInt64) {
        guard let flush = table.begin(id) else { return }
        let indexesTokens = project.configuration.indexesTokens
        let short = flush.call.shortCall(worker: project.leaseName, indexesTokens: indexesTokens)
        let command =
            short
            ?? flush.call.command(
                project.keys,
                worker: project.leaseName,
                nowMs: project.workerClockMs,
                indexesTokens: indexesTokens
            )
        let completion: ProjectConnection.Completion = { [weak self] result in self?.completed(id, result) }
        // A call with few results costs little besides the part that all calls share.
        if flush.call.results.count + flush.call.retries.count <= Self.maximumCoalesced {
            project.redis.append(command, as: .record, completion)
        } else {
            project.redis.write(command, completion)
        }
    }

    private func completed(_ id: UInt64, _ result: Result<RedisValue, RedisError>) {
        switch table.handle(answer(result), of: id, now: project.loop.now) {
        case .answered(let flush, let reply):
            onAnswer(.flushed(flush, reply))
            onConfirmed()
        case .writeAgain(let milliseconds):
            project.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.send(id) }
        case .none: break
        }
    }

    private func answer(_ result: Result<RedisValue, RedisError>) -> FlushTable.Answer {
        switch result {
        case .success(let value):
            if let reply = RecordReply(value) { return .reply(reply) }
            project.logger.error(
                "Redis answered a flush in a form that this version does not know; it is written again.",
                metadata: ["remedy": "give every worker the same version"]
            )
            return .unreadable
        case .failure(let error):
            complain(error)
            project.meters.redisFailed()
            let isLost = project.redis.state != .ready || error.code == .connectionLost || error.code == .timeout
            return isLost ? .lost : .refused
        }
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

    /// Writes nothing until ``open(isSameServer:)``.
    func cut() { table.cut() }

    /// Writes on a new connection, first the results that another server may have lost. The comparison of this worker's
    /// batches with Redis follows, and then ``writeAgain()``.
    func open(isSameServer: Bool) {
        for flush in table.open(isSameServer: isSameServer) { onAnswer(.replay(flush)) }
    }

    /// Writes, in order, what is neither in flight nor answered.
    func writeAgain() { for id in table.waiting { send(id) } }

    /// Checks whether a replica has everything that was confirmed so far. Redis blocks this connection for up to 20 ms.
    func checkReplicas() {
        guard table.isOpen, project.redis.state == .ready else { return }
        let sentAt = project.loop.now
        project.redis.send(RedisCommand("WAIT", "1", "20")) { [weak self] result in
            if case .success(.integer(1...)) = result { self?.table.markReplicated(upTo: sentAt) }
        }
    }
}
