public import StreamWire

/// One project at one moment.
public struct ProjectSnapshot: Equatable, Sendable {
    public var id: String
    /// Pause, block, hold, pressure, quota and the numbers of jobs.
    public var overview: OverviewReply
    /// Recipients without a result, of jobs that workers have taken and that are neither over nor parked.
    public var recipientsWaiting: Int64 = 0
    /// How long the oldest job has waited that nobody has begun to send, milliseconds; 0 when there is none.
    public var oldestWaitMs: Int64 = 0
    /// Jobs of one batch that wait for a worker, device groups included.
    public var waitingSingles: Int64 = 0
    /// Subscriptions and group operations that wait for a worker.
    public var waitingManaged: Int64 = 0
    /// Entries of `dead`.
    public var dead: Int64 = 0
    /// Entries of `results`.
    public var results: Int64 = 0
    /// Entries of `results` that the slowest consumer group has not acknowledged; nil when no group reads them.
    public var unreadResults: Int64?
    /// Until a blocked project is tried again, milliseconds; 0 when it is not blocked.
    public var probeMs: Int64 = 0
    /// Permits that can be lent to workers at this moment.
    public var permits: Double = 0
    public var tally = ResultTally()
    /// The jobs that hold the slot.
    public var holding: [FleetJob] = []
    /// Fan-outs that wait for the slot, the next one first; not all, if they are many.
    public var queued: [FleetJob] = []
    /// Some of the jobs that need a person.
    public var parked: [FleetJob] = []
    /// Some of the other jobs that are not over: of one batch, scheduled, paused, or with retries left.
    public var others: [FleetJob] = []
    /// The leases in this project, those of workers that died a moment ago included.
    public var leases: [WorkerLease] = []

    public init(id: String, overview: OverviewReply) {
        self.id = id
        self.overview = overview
    }

    /// When it was asked, Redis TIME in Unix milliseconds.
    public var askedMs: Int64 { overview.nowMs }

    /// Sends under way, as workers said last.
    public var inFlight: Int64 { leases.reduce(0) { $0 + ($1.isAlive ? $1.card?.inFlight ?? 0 : 0) } }

    public var workersAlive: Int { leases.filter(\.isAlive).count }

    /// Estimated seconds until nothing waits any more, were the whole quota used; nil when it is not known.
    public var drainSeconds: Double? {
        guard overview.quotaPerMinute > 0 else { return nil }
        return Double(recipientsWaiting + overview.entries) * 60 / Double(overview.quotaPerMinute)
    }
}

/// A job as the fleet's picture shows it.
public struct FleetJob: Equatable, Sendable {
    public var status: JobStatus
    /// nil when it was over a moment ago.
    public var jobClass: JobPlan.Class?
    /// 0 to 9.
    public var priority: Int?
    /// What its unfinished recipients are being given, `cancelled` or `expired`; nil while they are sent to.
    public var ending: String?
}

/// What became of a project's recipients since its beginning.
public struct ResultTally: Equatable, Sendable {
    /// Accepted by FCM; whether it was delivered is not known.
    public var sent: Int64 = 0
    public var failed: Int64 = 0
    public var unknown: Int64 = 0
    public var cancelled: Int64 = 0
    public var expired: Int64 = 0
    /// Attempts that were put off.
    public var retries: Int64 = 0

    public init() {}
}
