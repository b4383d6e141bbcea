public import StreamWire

/// How far a job is, how fast it goes, and what it waits for.
public struct JobProgress: Equatable, Sendable {
    /// Where a job stands that takes turns with others.
    public enum Turn: Equatable, Sendable {
        /// It takes no turns, or it is not its time.
        case none
        /// So many fan-outs will have the slot before it, the one that has it now not counted.
        case waiting(ahead: Int)
        /// The slot is its own. For a topic or a condition, `untilMs` (Unix milliseconds) is when FCM is estimated to
        /// be through with it.
        case holding(untilMs: Int64?)
    }

    public var status: JobStatus
    /// Redis' clock, Unix milliseconds.
    public var nowMs: Int64
    public var turn: Turn
    /// nil when the job is over, and when no worker has taken it yet.
    public var jobClass: JobPlan.Class?
    /// What else holds or stops the project; nil when the job is over, and when this user may not ask.
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

    /// Results a second since the first batch was claimed, pauses included, without those that were cancelled or whose
    /// time was over; nil before the first, and for a job of one recipient.
    ///
    /// Of a topic or a condition only the one send is known, not how fast FCM fans it out.
    public var resultsPerSecond: Double? {
        guard status.total > 1, status.attempted > 0, let startedMs = status.startedMs else { return nil }
        let elapsedMs = (status.isOver ? status.finishedMs ?? nowMs : nowMs) - startedMs
        guard elapsedMs > 0 else { return nil }
        return Double(status.attempted) * 1_000 / Double(elapsedMs)
    }

    /// Estimated seconds until the last result, at the average pace so far; nil when that says nothing: before the first
    /// result, while the job is held, and when only retries are left, whose times are their own.
    ///
    /// For a topic or a condition that FCM is busy with: until it is estimated to be through.
    public var remainingSeconds: Double? {
        if case .holding(let untilMs?) = turn { return Double(max(0, untilMs - nowMs)) / 1_000 }
        guard status.state == .active, let rate = resultsPerSecond, rate > 0 else { return nil }
        return Double(max(0, status.total - status.finished)) / rate
    }

    /// Why nothing of the job moves now; nil when nothing holds it but its turn.
    public var obstacle: String? {
        if let stop { return stop }
        guard !status.isOver, let project, project.holdMs > 0 else { return nil }
        return "FCM asked to wait \((project.holdMs + 999) / 1_000) s"
    }

    /// Like ``obstacle``, but only what a person has lifted or has to lift, not a wait that ends by itself.
    public var stop: String? {
        guard !status.isOver else { return nil }
        if status.state == .paused || status.state == .parked { return status.reason ?? "\(status.state)" }
        guard let project else { return nil }
        if project.isPaused { return "the project is paused: \(project.pauseReason)" }
        if !project.blockReason.isEmpty { return "the project is blocked: \(project.blockReason)" }
        if !project.pressure.isEmpty { return Self.pressure(project.pressure) }
        return nil
    }

    private static func pressure(_ name: String) -> String {
        switch name {
        case "results": return "the results are not read: a consumer group is too far behind"
        case "memory": return "Redis is nearly out of memory"
        default: return "the project is under pressure: \(name)"
        }
    }
}

extension FanfareOperator {
    /// Where the job stands, with its pace and its place; nil while no worker has taken it, and when it is no longer kept.
    public func progress(of job: String) async throws -> JobProgress? {
        guard let status = JobStatus(id: job, reply: try await redis.reply(to: RedisCommand("HGETALL", keys.job(job))))
        else { return nil }
        guard let nowMs = JobInquiry.milliseconds(try await redis.reply(to: JobInquiry.time)) else {
            throw FanfareClientError(.unexpectedReply, "TIME did not answer with a time")
        }
        var progress = JobProgress(status: status, nowMs: nowMs)
        guard !status.isOver else { return progress }
        // Ornaments: a producer's user may be allowed to read no more than the job's own words.
        if let reply = try? await redis.reply(to: JobInquiry.plan(keys, job: job)), let plan = JobPlan(reply) {
            progress.jobClass = plan.jobClass
            if plan.jobClass.takesTurns { progress.turn = (try? await turn(of: job, plan)) ?? .none }
        }
        progress.project = try? await overview()
        // The slot's own end is in the project's time, which is not the time of day once Redis' clock was set.
        if case .holding(.some) = progress.turn, let leftMs = progress.project?.activeLeftMs[job] {
            progress.turn = .holding(untilMs: nowMs + leftMs)
        }
        return progress
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
