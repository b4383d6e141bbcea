internal import EventLoop
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Asks Redis for work when there is room for it: a few batches ahead, never more.
final class Scheduler {
    private let project: ProjectContext
    private let dispatcher: Dispatcher
    private let planner: Planner
    private let credentials: any CredentialSource
    private var isAsking = false
    private var timer: TimerID?
    private var timerDue: UInt64 = .max

    /// The last claim found nothing at all: no work, none due, nothing being copied, no block.
    private(set) var foundNothing = false
    /// An audience that is being copied, for whoever has the time.
    var onCopying: (String) -> Void = { _ in }
    var onFenced: () -> Void = {}

    init(
        project: ProjectContext,
        dispatcher: Dispatcher,
        planner: Planner,
        credentials: any CredentialSource
    ) {
        self.project = project
        self.dispatcher = dispatcher
        self.planner = planner
        self.credentials = credentials
    }

    /// Recipients that may still be taken: two rounds of sends, so that one is at hand while the other is on its way.
    private var room: Int { 2 * project.configuration.maxInFlight - dispatcher.unsent }

    /// Batches that may still be held; a guard for jobs of one recipient each.
    private var batchRoom: Int { 4 * project.configuration.maxInFlight - planner.held.count }

    var canTake: Bool { room > 0 && batchRoom > 0 && !project.isDraining && project.leaseHolds }

    func ask() {
        guard !isAsking, !project.isDraining, project.leaseHolds, project.redis.state == .ready else {
            return askLater(project.configuration.pollMs)
        }
        // Without room the answer still says whether the project is held or blocked.
        let most = room > 0 ? max(0, min(64, batchRoom)) : 0
        guard most > 0 || project.blockReason != nil else { return askLater(project.configuration.pollMs) }
        isAsking = true
        project.redis.send(
            FunctionLibrary.claim(
                project.keys,
                worker: project.leaseName,
                most: most,
                wanted: max(0, room),
                window: project.window
            )
        ) { [weak self] result in
            self?.isAsking = false
            self?.answered(result)
        }
    }

    private func answered(_ result: Result<RedisValue, RedisError>) {
        guard case .success(let value) = result, let parsed = ClaimReply.parse(value) else {
            if case .failure(let error) = result {
                project.logger.debug("A claim failed.", metadata: ["error": "\(error)"])
            }
            return askLater(project.configuration.pollMs)
        }
        guard case .reply(let reply) = parsed else { return onFenced() }
        project.hold(milliseconds: reply.holdMs)
        updateBlock(reply)
        foundNothing =
            reply.claims.isEmpty && reply.nextDueMs == 0 && reply.copying.isEmpty && reply.probeMs == 0
        planner.claimed(reply.claims, isProbe: reply.probeMs > 0)
        if !reply.copying.isEmpty { onCopying(reply.copying) }
        if !reply.claims.isEmpty, room > 0 { return ask() }
        let due = reply.nextDueMs > 0 ? max(1, reply.nextDueMs - reply.nowMs) : .max
        askLater(min(project.configuration.pollMs, due))
    }

    private func updateBlock(_ reply: ClaimReply) {
        if reply.probeMs > 0 {
            project.blockReason = reply.blockReason
            if !reply.claims.isEmpty { credentials.retryFailed() }
        } else if project.blockReason != nil, reply.holdMs == 0 {
            project.blockReason = nil
            credentials.retryFailed()
            project.logger.notice("The project sends again.")
            dispatcher.pump()
        }
    }

    func askLater(_ milliseconds: Int64) {
        let due = project.loop.now + UInt64(max(0, min(milliseconds, 60_000))) * 1_000_000
        guard due < timerDue else { return }
        if let timer { project.loop.cancel(timer) }
        timerDue = due
        timer = project.loop.schedule(afterNanoseconds: due - project.loop.now) { [weak self] in
            self?.timer = nil
            self?.timerDue = .max
            self?.ask()
        }
    }
}
