public import StreamWire

public struct ProjectSnapshot: Equatable, Sendable {
    public var id: String
    /// Why Redis cannot read the project, such as a key of the wrong type; nil for a project that can be read. With a fault
    /// all other properties are empty.
    public var fault: String?
    /// Pause, block, hold, pressure, quota and the numbers of jobs.
    public var overview: OverviewReply
    /// Recipients without a result, of jobs that workers have taken and that are neither over nor parked.
    public var recipientsWaiting: Int64 = 0
    /// Age of the oldest job without a started send, milliseconds; 0 if there is none.
    public var oldestWaitMs: Int64 = 0
    /// Jobs of one batch that wait for a worker, including device groups.
    public var waitingSingles: Int64 = 0
    /// Subscriptions and group operations that wait for a worker.
    public var waitingManaged: Int64 = 0
    /// Entries of `dead`.
    public var dead: Int64 = 0
    /// Entries of `results`.
    public var results: Int64 = 0
    /// Entries of `results` that the slowest consumer group has not acknowledged; nil when no group reads them.
    public var unreadResults: Int64?
    /// Time until a blocked project is retried, milliseconds; 0 if it is not blocked.
    public var probeMs: Int64 = 0
    /// Permits that can be leased to workers now.
    public var permits: Double = 0
    public var tally = ResultTally()
    public var holding: [FleetJob] = []
    /// Fan-outs that wait for the slot, the next one first; not all, if they are many.
    public var queued: [FleetJob] = []
    /// Some of the parked jobs.
    public var parked: [FleetJob] = []
    /// Some of the other jobs that are not over: of one batch, scheduled, paused, or with retries left.
    public var others: [FleetJob] = []
    /// Some of the jobs that a guard stopped, the earliest first.
    public var stopped: [StoppedJob] = []
    /// The newest rejected entry of `dead`; nil without one.
    public var rejected: RejectedJob?
    /// The leases in this project, including leases of workers that died recently.
    public var leases: [WorkerLease] = []

    public init(id: String, overview: OverviewReply) {
        self.id = id
        self.overview = overview
    }

    /// When the project was read, Redis TIME in Unix milliseconds.
    public var askedMs: Int64 { overview.nowMs }

    /// Sends in flight, as workers last reported.
    public var inFlight: Int64 { leases.reduce(0) { $0 + ($1.isAlive ? $1.card?.inFlight ?? 0 : 0) } }

    public var workersAlive: Int { leases.filter(\.isAlive).count }

    /// The listed jobs in their first pass.
    var moving: [FleetJob] { (holding + others).filter { $0.status.state == .active && $0.status.unattempted > 0 } }

    /// The progress of a listed job, with its turn if FCM fans it out.
    public func progress(of job: FleetJob) -> JobProgress {
        var progress = JobProgress(status: job.status, nowMs: askedMs, jobClass: job.jobClass, project: overview)
        if let leftMs = overview.activeLeftMs[job.status.id] {
            progress.turn = .holding(untilMs: progress.nowMs + leftMs)
        }
        return progress
    }

    /// Recipients without a result whose jobs need no operator: recipients of listed stopped jobs are left out.
    public var recipientsAwaitingSend: Int64 {
        let ofStopped = stopped.lazy.filter(\.needsOperator).map { max(0, $0.status.total - $0.status.finished) }
        return max(0, recipientsWaiting - ofStopped.reduce(0, +))
    }

    /// Recipients of the listed jobs that wait for their time or for an operator, so not for the pace.
    var idleRecipients: Int64 {
        others.lazy.filter { [.scheduled, .paused].contains($0.status.state) }.reduce(0) { $0 + $1.status.unattempted }
    }

    /// Least seconds until nothing waits, at the full quota; nil if the quota is unknown.
    public var drainSeconds: Double? {
        guard overview.quotaPerMinute > 0 else { return nil }
        return Double(recipientsWaiting + overview.entries) * 60 / Double(overview.quotaPerMinute)
    }
}

/// An entry of `dead` whose job broke a rule.
public struct RejectedJob: Equatable, Sendable {
    /// The entry's id in `dead`.
    public var entry: String
    public var job: String
    public var reason: String
    /// When it was rejected, Unix milliseconds.
    public var atMs: Int64?
}

public struct FleetJob: Equatable, Sendable {
    public var status: JobStatus
    /// nil if the job has just ended.
    public var jobClass: JobPlan.Class?
    /// 0 to 9.
    public var priority: Int?
    /// The result that its unfinished recipients get, `cancelled` or `expired`; nil while the job is sent.
    public var ending: String?
}

/// Counts of a project's results since its start.
public struct ResultTally: Equatable, Sendable {
    /// Accepted by FCM; not known to be delivered.
    public var sent: Int64 = 0
    public var failed: Int64 = 0
    public var unknown: Int64 = 0
    public var cancelled: Int64 = 0
    public var expired: Int64 = 0
    /// Attempts that were put back for a retry.
    public var retries: Int64 = 0
    /// Results flagged as possible duplicates.
    public var maybeDup: Int64 = 0

    public init() {}
}
