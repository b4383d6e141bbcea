internal import EventLoop
internal import FanfareCore
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Asks Redis for work, permits and news, when ``ClaimPlan`` says so and for as much as the ``SendMachine`` wants.
final class Claimer {
    private let project: ProjectContext
    private let sends: SendDriver
    var plan: ClaimPlan { didSet { project.isQuiet = plan.isQuiet } }
    private var timer: TimerID?
    private var timerDue: UInt64 = .max

    /// Whether entries are handed over: one of them may be this worker's soon.
    var isHandingOver: () -> Bool = { false }
    /// Called with the job whose audience is being copied; any worker may copy the next part.
    var onCopying: (String) -> Void = { _ in }
    /// Called with a job whose send window has closed, and the window.
    var onWindowClosed: (_ job: String, _ window: String) -> Void = { _, _ in }
    /// Called with the name of the lease that was declared dead.
    var onLeaseLost: (String) -> Void = { _ in }

    private static let longestMs: Int64 = 1_800_000
    /// Projects are claimed for at different times, although they become quiet together.
    private static let quietPollMs: ClosedRange<Int64> = 1_200_000...1_800_000

    init(project: ProjectContext, sends: SendDriver) {
        self.project = project
        self.sends = sends
        plan = ClaimPlan(
            pollMs: project.configuration.pollMs,
            idlePollMs: project.configuration.idlePollMs,
            quietPollMs: .random(in: Self.quietPollMs)
        )
    }

    /// Whether a job may be handed over to this worker at intake. One answer serves the entries of a turn.
    var canTake: Bool {
        let now = project.instant
        if now.monotonicNs != taking.askedNs {
            sends.readResources()
            taking = (now.monotonicNs, project.machine.reasonNotToTake(now: now) == nil)
        }
        return taking.isAllowed
    }
    private var taking: (askedNs: UInt64, isAllowed: Bool) = (.max, false)

    func claim() {
        sends.readResources()
        let name = project.leaseName
        guard var call = project.machine.claimCall(worker: name, plan: plan, now: project.instant) else {
            return claim(afterMs: project.configuration.pollMs)
        }
        call.activeFanouts = project.project.activeFanouts
        call.smear = project.project.smear
        call.backlogLimit = project.configuration.backlogLimit
        call.connection = project.connection
        call.nowMs = project.workerClockMs
        plan.sent(call)
        // Read now: in a long turn the answer would seem older than it is.
        let askedNs = SystemClock.bootNs
        project.redis.write(call.command(project.keys)) { [weak self] result in
            self?.answered(result, askedNs: askedNs, name: name)
        }
    }

    private func answered(_ result: Result<RedisValue, RedisError>, askedNs: UInt64, name: String) {
        guard case .success(let value) = result, let parsed = ClaimReply.parse(value) else {
            if case .failure(let error) = result {
                project.logger.debug("A claim failed.", metadata: ["error": "\(error)"])
                project.redis.onRefused(error)
                project.meters.redisFailed()
            }
            return follow(plan.failed())
        }
        guard case .reply(let reply) = parsed else {
            _ = plan.failed()
            return onLeaseLost(name)
        }
        project.machine.answers.confirm()
        // Claimed under a name that is dead meanwhile, the batches are for others.
        guard name == project.leaseName else {
            _ = plan.failed()
            return claim(afterMs: 0)
        }
        project.syncClock(projectMs: reply.nowMs, projectClockOffsetMs: reply.projectClockOffsetMs, askedNs: askedNs)
        var others = reply
        others.claims.removeAll(where: \.endsUnsent)
        sends.handleAndSend(.claimReplied(others, askedNs: askedNs))
        if !reply.copying.isEmpty { onCopying(reply.copying) }
        if let closed = reply.closedWindow { onWindowClosed(closed.job, closed.window) }
        let (unsent, holdsBatches) = (project.machine.unsent, !project.machine.isEmpty || isHandingOver())
        follow(plan.answered(reply, unsent: unsent, holdsBatches: holdsBatches))
        end(reply.claims.filter(\.endsUnsent))
    }

    /// Ends batches of jobs that are ending, which takes a while: meanwhile Redis chooses the next claim, and takes the
    /// results of one batch while the next one ends.
    private func end(_ claims: [Claim]) {
        for claim in claims {
            project.redis.writeNow()
            sends.handle(.claimed(claim))
        }
    }

    private func follow(_ next: ClaimPlan.Next) {
        switch next {
        case .now: claim()
        case .after(let milliseconds): claim(afterMs: milliseconds)
        }
    }

    /// Sends wait for permits.
    func starved() { if let next = plan.starved() { follow(next) } }

    /// Asks for nothing more.
    func close() {
        if let timer { project.loop.cancel(timer) }
        timerDue = 0
    }

    /// Schedules a claim. One timer serves all calls: the earliest counts.
    func claim(afterMs milliseconds: Int64) {
        let due = project.loop.now + UInt64(max(0, min(milliseconds, Self.longestMs))) * 1_000_000
        guard due < timerDue else { return }
        if let timer { project.loop.cancel(timer) }
        timerDue = due
        timer = project.loop.schedule(afterNanoseconds: due - project.loop.now) { [weak self] in
            self?.timer = nil
            self?.timerDue = .max
            self?.claim()
        }
    }
}
