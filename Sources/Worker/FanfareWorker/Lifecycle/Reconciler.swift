internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Compares what this worker holds with what Redis says it holds, after each new connection and once a lease.
///
/// An answer may be lost with a connection, and with it a claim that only Redis knows of; a server that is replaced may
/// have forgotten a claim that only this worker knows of.
final class Reconciler {
    private let project: ProjectContext
    private let claimer: Claimer
    private let intake: Intake
    private let sends: SendDriver
    private let writer: FlushWriter
    private var failoverPause = FailoverPause()
    private var lastNs: UInt64 = 0
    private var failures = LogThrottle(seconds: 10)

    /// Called when sends and claims may begin.
    var onReady: () -> Void = {}

    private static let retryMs: Int64 = 200
    private static let quietMs: Int64 = 10

    init(project: ProjectContext, claimer: Claimer, intake: Intake, sends: SendDriver, writer: FlushWriter) {
        self.project = project
        self.claimer = claimer
        self.intake = intake
        self.sends = sends
        self.writer = writer
    }

    /// Redis is connected, for the first time or again.
    func connected(isSameServer: Bool) {
        project.isReady = false
        if project.configuration.usesSentinels {
            failoverPause.connected(isSameServer: isSameServer, now: project.loop.now)
        }
        resume(isSameServer: isSameServer)
    }

    /// No claim and no hand-over is unanswered: an unanswered one would look like a lost one.
    private var isQuiet: Bool { !claimer.plan.isAsking && intake.isIdle }

    private func resume(isSameServer: Bool) {
        guard isQuiet else {
            project.loop.schedule(afterMilliseconds: Self.quietMs) { [weak self] in
                guard let self, project.redis.state == .ready, !project.isReady else { return }
                resume(isSameServer: isSameServer)
            }
            return
        }
        writer.open(isSameServer: isSameServer)
        reconcile(isSameServer: isSameServer)
        writer.writeAgain()
    }

    /// Releases batches that only Redis counts as this worker's, because an answer was unreadable or a call failed.
    func reconcileIfDue() {
        let lease = UInt64(project.configuration.leaseMs) * 1_000_000
        guard project.isReady, project.leaseHolds, !project.isDraining, isQuiet, project.loop.now > lastNs + lease
        else { return }
        reconcile(isSameServer: true)
    }

    private func reconcile(isSameServer: Bool) {
        let command = FunctionLibrary.reconcile(
            project.keys,
            worker: project.leaseName,
            connection: project.connection,
            isSameServer: isSameServer,
            known: project.machine.known
        )
        lastNs = project.loop.now
        project.redis.send(command) { [weak self] result in
            guard let self, project.redis.state == .ready else { return }
            switch result {
            case .success(let value):
                failures.reset()
                sends.handle(.forgotten(ReconcileReply(value)?.lost ?? []))
                beginAfterPause()
            case .failure(let error):
                if failures.admits(now: project.loop.now) {
                    project.logger.warning(
                        "Redis cannot say yet which batches this worker holds.",
                        metadata: ["error": "\(error)"]
                    )
                }
                project.loop.schedule(afterMilliseconds: Self.retryMs) { [weak self] in
                    guard let self, project.redis.state == .ready, !project.isReady else { return }
                    reconcile(isSameServer: isSameServer)
                }
            }
        }
    }

    private func beginAfterPause() {
        let remainingNs = failoverPause.remainingNs(now: project.loop.now)
        guard remainingNs > 0 else {
            project.isReady = true
            return onReady()
        }
        let connection = project.connection
        project.loop.schedule(afterNanoseconds: remainingNs) { [weak self] in
            guard let self, connection == project.connection, project.redis.state == .ready, !project.isReady else {
                return
            }
            beginAfterPause()
        }
    }
}
