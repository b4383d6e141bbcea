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

    /// The last claim said that every job is over.
    private(set) var foundNothing = false
    var isAskingNow: Bool { isAsking }
    /// An audience that is being copied, for whoever has the time.
    var onCopying: (String) -> Void = { _ in }
    /// With the name that was fenced.
    var onFenced: (String) -> Void = { _ in }
    /// Redis lacks the functions.
    var onFunctionsMissing: () -> Void = {}

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
        // A worker with its hands full still takes the probe of a blocked project: all of them may be full.
        let isBlocked = project.blockReason != nil
        let most = isBlocked ? 1 : room > 0 ? max(0, min(64, batchRoom)) : 0
        guard most > 0 else { return askLater(project.configuration.pollMs) }
        isAsking = true
        foundNothing = false
        let askedAt = project.loop.now
        let name = project.leaseName
        project.redis.send(
            FunctionLibrary.claim(
                project.keys,
                worker: name,
                most: most,
                wanted: isBlocked ? 1 : max(0, room),
                window: project.window
            )
        ) { [weak self] result in
            self?.isAsking = false
            self?.answered(result, askedAt: askedAt, name: name)
        }
    }

    private func answered(_ result: Result<RedisValue, RedisError>, askedAt: UInt64, name: String) {
        guard case .success(let value) = result, let parsed = ClaimReply.parse(value) else {
            if case .failure(let error) = result {
                project.logger.debug("A claim failed.", metadata: ["error": "\(error)"])
                if error.code == .functionNotFound { onFunctionsMissing() }
            }
            return askLater(project.configuration.pollMs)
        }
        guard case .reply(let reply) = parsed else { return onFenced(name) }
        project.hold(milliseconds: reply.holdMs)
        project.learnClock(redisMs: reply.nowMs)
        updateBlock(reply, askedAt: askedAt)
        foundNothing = reply.unfinished == 0
        planner.claimed(reply.claims, isProbe: reply.probeMs > 0)
        if !reply.copying.isEmpty { onCopying(reply.copying) }
        if !reply.claims.isEmpty, room > 0 { return ask() }
        let due = reply.nextDueMs > 0 ? max(1, reply.nextDueMs - reply.nowMs) : .max
        askLater(min(project.configuration.pollMs, due))
    }

    private func updateBlock(_ reply: ClaimReply, askedAt: UInt64) {
        if reply.probeMs > 0 {
            project.blockReason = reply.blockReason
            if !reply.claims.isEmpty { credentials.retryFailed() }
        } else if project.blockReason != nil, askedAt > project.blockedAt {
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
