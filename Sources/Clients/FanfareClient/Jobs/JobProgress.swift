internal import FanfareModel
public import StreamWire

/// The progress of a job: its status, rate, place in the queue and what holds it.
public struct JobProgress: Equatable, Sendable {
    /// The place of a fan-out in the queue for the slot.
    public enum Turn: Equatable, Sendable {
        /// The job needs no slot, or does not wait for one now.
        case none
        /// The number of fan-outs before it in the queue, without the one that holds the slot.
        case waiting(ahead: Int)
        /// The job holds the slot, for a topic or a condition until the estimated end of FCM's fan-out in Unix ms.
        case holding(untilMs: Int64?)
    }

    public var status: JobStatus
    /// The time of Redis' clock, Unix milliseconds.
    public var nowMs: Int64
    public var turn: Turn
    /// nil if the job is over or no worker has taken it yet.
    public var jobClass: JobPlan.Class?
    /// The state of the project; nil if the job is over or this user may not read it.
    public var project: OverviewReply?

    public init(
        status: JobStatus,
        nowMs: Int64,
        turn: Turn = .none,
        jobClass: JobPlan.Class? = nil,
        project: OverviewReply? = nil
    ) {
        self.status = status
        self.nowMs = nowMs
        self.turn = turn
        self.jobClass = jobClass
        self.project = project
    }

    /// Recipients a second. A job in its first pass counts the recipients tried over its last seconds. A job that is
    /// over counts its recipients with an attempt, from its start to the end of its first pass, pauses included.
    ///
    /// nil while the job stands still, for less than a second, and for a job of one recipient, such as a topic.
    public var resultsPerSecond: Double? {
        guard status.total > 1, status.isOver || (status.state == .active && stop == nil), let span = paces?.whole,
            span.seconds >= 1,
            span.tried > 0
        else { return nil }
        return Double(span.tried) / span.seconds
    }

    /// Recipients that were tried, over the whole measured time and over its later part.
    private var paces: (whole: JobPace.Span, recent: JobPace.Span)? {
        if !status.isOver, let pace = status.pace { return (pace.whole(status.tried), pace.recent(status.tried)) }
        // Of a job that is over; an older worker writes no pace.
        guard let startedMs = status.startedMs else { return nil }
        let endMs = status.isOver ? status.firstPassMs ?? status.finishedMs ?? nowMs : nowMs
        let span = JobPace.Span(
            tried: status.isOver ? status.attempted : status.tried,
            seconds: Double(max(0, endMs - max(0, startedMs))) / 1_000
        )
        return (span, span)
    }

    /// Estimated seconds until every recipient had its first attempt, or until the end of FCM's fan-out.
    ///
    /// nil while something stops the job, in its first second, and while only retries are left: they wait for their time,
    /// not for a rate.
    public var remainingSeconds: Double? {
        if case .holding(let untilMs?) = turn { return Double(max(0, untilMs - nowMs)) / 1_000 }
        guard status.state == .active, heldBy == nil, status.unattempted > 0, let paces else { return nil }
        return CompletionEstimate.seconds(
            left: status.unattempted,
            whole: paces.whole,
            recent: paces.recent,
            ramp: project?.ramp
        )
    }

    /// Why the job makes no progress now, and until when if that is known; nil if it only waits for the slot or for
    /// nothing.
    public var heldBy: String? {
        if status.state == .scheduled { return startTime.map { "it starts at \($0)" } }
        if let stop = stop ?? status.closedWindow { return stop }
        guard !status.isOver, let project, project.holdMs > 0 else { return nil }
        let end = CalendarTime(unixMs: project.nowMs + project.holdMs).rfc3339
        return "FCM asked to wait \((project.holdMs + 999) / 1_000) s, until \(end)"
    }

    /// When a scheduled job starts, as a time in UTC; nil for any other job.
    public var startTime: String? {
        guard status.state == .scheduled, let at = status.notBeforeMs else { return nil }
        return CalendarTime(unixMs: at).rfc3339
    }

    /// Like ``heldBy``, but nil for a wait that ends at a known time, without anyone's help.
    public var stop: String? {
        guard !status.isOver, status.state != .scheduled else { return nil }
        if status.state == .paused || status.state == .parked { return status.reason ?? "\(status.state)" }
        // Only the end of a job gives such results, a thousand at a time.
        if status.cancelled > 0 { return "its unfinished recipients are being cancelled" }
        if status.expired > 0 { return "it has expired; its unfinished recipients are being ended" }
        guard let project else { return nil }
        if project.isPaused { return "the project is paused: \(project.pauseReason)" }
        if !project.blockReason.isEmpty { return "the project is blocked: \(project.blockReason)" }
        if project.isUnreachable { return project.unreachable }
        if let text = project.pressureText { return text }
        if project.workers > 0, project.workersAlive == 0 { return "no worker of the project is alive" }
        return nil
    }
}

extension FanfareOperator {
    /// The progress of a job; nil while no worker has taken it, and when it is no longer kept.
    public func progress(of job: String) async throws -> JobProgress? {
        guard let status = try await status(of: job) else { return nil }
        guard let nowMs = JobInquiry.milliseconds(try await redis.reply(to: JobInquiry.time)) else {
            throw FanfareClientError(.unexpectedReply, "TIME did not answer with a time")
        }
        var progress = JobProgress(status: status, nowMs: nowMs)
        guard !status.isOver else { return progress }
        // Optional facts: a producer's user may not be permitted to read them.
        if let reply = try? await redis.reply(to: JobInquiry.plan(keys, job: job)), let plan = JobPlan(reply) {
            progress.jobClass = plan.jobClass
            if plan.jobClass.takesTurns { progress.turn = (try? await turn(of: job, plan)) ?? .none }
        }
        progress.project = try? await overview()
        // The slot's end is in the project's clock, which differs once Redis' clock was set.
        if case .holding(.some) = progress.turn, let leftMs = progress.project?.activeLeftMs[job] {
            progress.turn = .holding(untilMs: nowMs + leftMs)
        }
        return progress
    }

    /// The hash of a push to one recipient is written with its result, or when an operator asks for it here.
    private func status(of job: String) async throws -> JobStatus? {
        func read() async throws -> JobStatus? {
            JobStatus(id: job, reply: try await redis.reply(to: RedisCommand("HGETALL", keys.job(job))))
        }
        if let status = try await read() { return status }
        // A producer's user may not call functions.
        let expanded = try? await redis.reply(to: JobInquiry.expand(keys, job: job)).integer
        return expanded == 1 ? try await read() : nil
    }

    private func turn(of job: String, _ plan: JobPlan) async throws -> JobProgress.Turn {
        if let slot = try await redis.reply(to: JobInquiry.slot(keys, job: job)).string {
            let until = slot.split(separator: "|", maxSplits: 1).dropFirst().first.flatMap { Int64($0) }
            return .holding(untilMs: until.flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil })
        }
        let rank = try await redis.reply(to: JobInquiry.rank(keys, member: plan.member)).integer
        return rank.map { .waiting(ahead: Int(clamping: max(0, $0))) } ?? .none
    }
}
