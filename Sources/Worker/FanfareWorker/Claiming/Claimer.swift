internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Asks Redis for work when there is room for it: a few batches ahead, never more.
final class Claimer {
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
    /// What was said before this worker registered is in the jobs themselves; refused rates are remembered for an hour.
    private(set) var newsCursor = "0"
    private var refusedCursor = "0"
    private var askedPermits = 0
    private var nextLibraryReport: UInt64 = 0
    /// The last call lent fewer permits than were asked for.
    private var isShort = false
    private var wasStarved = false
    /// What happened to jobs and recipients elsewhere.
    var onNews: ([News]) -> Void = { _ in }
    /// An audience that is being copied, for whoever has the time.
    var onCopying: (String) -> Void = { _ in }
    /// With the name that was fenced.
    var onFenced: (String) -> Void = { _ in }

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
    /// Counted apart, so that a fan-out that is sent slowly keeps no single recipient out.
    private var room: Int { max(0, 2 * project.configuration.maxInFlight - dispatcher.queue.unsentFanouts) }
    private var singleRoom: Int { max(0, 2 * project.configuration.maxInFlight - dispatcher.queue.unsentSingles) }

    /// Batches that may still be held; a guard for jobs of one recipient each.
    private var batchRoom: Int { 4 * project.configuration.maxInFlight - planner.held.count }

    var canTake: Bool {
        project.isReady && singleRoom > 0 && batchRoom > 0 && !project.isDraining && project.leaseHolds
            && project.quarantine.holder == nil && !credentials.isStuck
    }

    func ask() {
        guard !isAsking, !project.isDraining, project.leaseHolds, project.isReady else {
            return askLater(project.configuration.pollMs)
        }
        // A worker with its hands full still takes the probe of a blocked project: all of them may be full.
        let isBlocked = project.blockReason != nil
        let hasRoom =
            (room > 0 || singleRoom > 0) && project.quarantine.admits(project.project.id) && !credentials.isStuck
        isAsking = true
        foundNothing = false
        let askedAt = project.loop.now
        let name = project.leaseName
        var call = ClaimCall(
            worker: name,
            most: isBlocked && !credentials.isStuck ? 1 : hasRoom ? max(0, min(64, batchRoom)) : 0,
            wanted: isBlocked ? 1 : room,
            wantedSingle: isBlocked ? 1 : singleRoom,
            window: project.window,
            retries: project.sendLimit.retryRoom(),
            quotaPerMinute: project.project.quotaPerMinute
        )
        askForPermits(&call, isBlocked: isBlocked)
        let queue = dispatcher.queue
        call.wantedManaged = max(0, 2 * Batch.maximumSize - queue.unsentManaged)
        call.activeFanouts = project.project.activeFanouts
        call.smear = project.project.smear
        call.backlogLimit = project.configuration.backlogLimit
        call.newsCursor = newsCursor
        call.refusedCursor = refusedCursor
        call.connection = project.connection
        call.nowMs = project.workerClockMs
        call.answers = project.answers.report(now: askedAt)
        askedPermits = call.permitsSingle + call.permitsFanout
        project.coalescer.send(call.command(project.keys)) { [weak self] result in
            self?.isAsking = false
            self?.answered(result, askedAt: askedAt, name: name)
        }
    }

    private func askForPermits(_ call: inout ClaimCall, isBlocked: Bool) {
        let queue = dispatcher.queue
        var shared: SharedRequests?
        if project.project.transport == .legacy, project.project.legacyBody == .json {
            shared = SharedRequests(
                of: queue,
                quotaPerMinute: project.project.quotaPerMinute,
                onlyProbe: isBlocked
            )
        }
        let singles = queue.unsentSingles - (shared?.singles ?? 0)
        // The probe needs a permit.
        let atLeast = isBlocked ? 1 : 0
        var available = project.permits.available
        var keep = queue.unsent
        // Permits for a part of a multicast are useless: they are given back, and all of its permits are asked for.
        if let shared, shared.next > available - singles { keep = singles }
        call.returned = project.permits.takeBack(keep: max(atLeast, keep))
        available -= call.returned
        call.permitsSingle = max(atLeast, singles - available)
        available -= min(available, singles)
        call.permitsFanout = max(0, queue.unsent - singles - available)
        call.unit = shared.map { $0.next > available ? $0.next : 0 }
    }

    private func answered(_ result: Result<RedisValue, RedisError>, askedAt: UInt64, name: String) {
        guard case .success(let value) = result, let parsed = ClaimReply.parse(value) else {
            if case .failure(let error) = result {
                project.logger.debug("A claim failed.", metadata: ["error": "\(error)"])
                project.coalescer.onRefused(error)
                project.meters.redisFailed()
            }
            return askLater(project.configuration.pollMs)
        }
        guard case .reply(let reply) = parsed else { return onFenced(name) }
        project.answers.confirm()
        if !reply.countsAnswers { reportOldLibrary(askedAt) }
        // Asked under a name that is dead meanwhile: what came with it is for others.
        guard name == project.leaseName else { return askLater(0) }
        project.syncClock(projectMs: reply.nowMs, projectClockOffsetMs: reply.projectClockOffsetMs)
        project.permits.lent(reply.permits, askedAt: askedAt)
        project.hold(milliseconds: reply.holdMs)
        updateStops(reply)
        updateBlock(reply, askedAt: askedAt)
        foundNothing = reply.unfinished == 0
        planner.claimed(reply.claims)
        newsCursor = reply.newsCursor
        refusedCursor = reply.refusedCursor
        if !reply.news.isEmpty { onNews(reply.news) }
        if !reply.copying.isEmpty { onCopying(reply.copying) }
        if reply.permits > 0 { dispatcher.pump() }
        isShort = reply.permits < askedPermits
        // What was claimed needs permits, and there may be more of it.
        if !reply.claims.isEmpty || reply.news.count >= 500
            || (dispatcher.queue.unsent > 0 && reply.permits > 0 && !isShort && wasStarved)
        {
            wasStarved = false
            return ask()
        }
        let due = reply.nextDueMs > reply.nowMs ? reply.nextDueMs - reply.nowMs : .max
        let hasWork = reply.unfinished > 0 || !planner.isIdle
        askLater(min(hasWork ? project.configuration.pollMs : project.configuration.idlePollMs, due))
    }

    /// A worker of an older version has loaded its library over this one. A user that may not load it back is told so every
    /// ten seconds at most.
    private func reportOldLibrary(_ now: UInt64) {
        guard now >= nextLibraryReport else { return }
        nextLibraryReport = now + 10_000_000_000
        project.coalescer.onFunctionsMissing()
    }

    /// Registered anew: what was said up to here does not concern what is claimed from now on.
    func heardUpTo(_ cursor: String) { newsCursor = cursor }

    func hearAgain() {
        newsCursor = "0"
        refusedCursor = "0"
    }

    /// Sends wait for permits: asked for at once, unless there were too few of them a moment ago.
    func starved() {
        wasStarved = true
        // The answer that is on its way leads to the next call at once.
        guard !isAsking || isShort else { return }
        askLater(isShort ? project.configuration.pollMs / 2 : 0)
    }

    private func updateStops(_ reply: ClaimReply) {
        let pause = reply.pauseReason.isEmpty ? nil : reply.pauseReason
        let pressure = reply.pressure.isEmpty ? nil : reply.pressure
        let wasStopped = project.pauseReason != nil || project.pressure != nil
        if pressure != project.pressure {
            if let pressure {
                project.logger.warning(
                    "Nothing more is taken on until this has been read, or memory is free.",
                    metadata: ["pressure": "\(pressure)"]
                )
            } else {
                project.logger.notice("The pressure is over.")
            }
        }
        if pause != project.pauseReason {
            project.logger.notice(pause == nil ? "The project goes on." : "The project is paused by an operator.")
        }
        if pause != nil || pressure != nil || reply.holdMs > 2_000 { planner.giveUpAlone() }
        project.pauseReason = pause
        project.pressure = pressure
        if wasStopped, pause == nil, pressure == nil { dispatcher.pump() }
    }

    private func updateBlock(_ reply: ClaimReply, askedAt: UInt64) {
        if reply.probeMs > 0 {
            project.blockReason = reply.blockReason
            if reply.claims.contains(where: \.isProbe) { credentials.retryFailed() }
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
