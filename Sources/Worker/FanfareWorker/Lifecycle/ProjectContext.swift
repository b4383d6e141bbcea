internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// What the roles of one project share: where they write, what they are called, and whether sends may begin.
final class ProjectContext {
    let loop: EventLoop
    let redis: ProjectConnection
    /// For claims, hand-overs and flushes; everything else goes by ``redis``.
    let coalescer: CommandCoalescer
    let configuration: WorkerConfiguration
    let project: WorkerConfiguration.Project
    let keys: ProjectKeys
    let leases: LeaseTable
    let logger: Logger

    /// FCM's answers to sends that are not yet reported to Redis, where the fleet's answers decide whether the project
    /// is held.
    var answers = AnswerTally()
    /// Loop time before which no send begins: the project is held.
    private(set) var heldUntil: UInt64 = 0
    /// Why the project is blocked, and nothing but the probe is sent; nil when it is not.
    var blockReason: String? { didSet { if blockReason != nil { blockedAt = loop.now } } }
    /// Loop time at which the block was last set or written; what was asked before says nothing of it.
    private(set) var blockedAt: UInt64 = 0
    var isDraining = false
    /// Redis answers, and has told on this connection what is ours. Before that no claim may overtake the question.
    var isReady = false
    /// Why an operator has paused the project; nil when none has.
    var pauseReason: String?
    /// What keeps workers from taking on more; nil when nothing does.
    var pressure: String?
    let permits: Permits
    let sendLimit: AdaptiveSendLimit
    let quarantine: Quarantine
    let registry: MetricRegistry
    let meters: ProjectMeters
    let tracer = BatchTracer()

    init(
        loop: EventLoop,
        redis: RedisConnection,
        configuration: WorkerConfiguration,
        project: WorkerConfiguration.Project,
        leases: LeaseTable,
        quarantine: Quarantine,
        registry: MetricRegistry,
        logger: Logger
    ) {
        self.registry = registry
        meters = ProjectMeters(project: project.id, transport: project.transport, registry: registry)
        permits = Permits(loop: loop)
        sendLimit = AdaptiveSendLimit(loop: loop, configuration: configuration)
        self.quarantine = quarantine
        self.loop = loop
        self.redis = ProjectConnection(redis)
        self.configuration = configuration
        self.project = project
        self.leases = leases
        keys = ProjectKeys(prefix: configuration.prefix, project: project.id)
        var logger = logger
        logger[metadataKey: "project"] = "\(project.id)"
        self.logger = logger
        coalescer = CommandCoalescer(
            loop: loop,
            redis: self.redis,
            keys: keys,
            replicas: configuration.safeReplicas,
            logger: logger
        )
    }

    /// The project's time less this machine's time since boot, and less Redis TIME, in milliseconds.
    private var clockOffsetMs = SystemClock.nowMs - SystemClock.bootMs
    private var projectClockOffsetMs: Int64 = 0
    private var knowsTime = false

    /// The project's time, by which everything waits. Counted from the machine's start, so that no clock that is set,
    /// here or at Redis, moves it.
    var nowMs: Int64 { SystemClock.bootMs + clockOffsetMs }
    /// The same as Redis is told it, which judges by it whether its own clock was set; 0 before Redis has said it once.
    var workerClockMs: Int64 { knowsTime ? nowMs : 0 }
    /// The time of day by Redis' clock, Unix milliseconds: for what producers and FCM name as such.
    var wallMs: Int64 { nowMs - projectClockOffsetMs }

    func wall(_ projectMs: Int64) -> Int64 { projectMs - projectClockOffsetMs }
    func projectTime(_ wallMs: Int64) -> Int64 { wallMs + projectClockOffsetMs }

    func syncClock(projectMs: Int64, projectClockOffsetMs: Int64) {
        clockOffsetMs = projectMs - SystemClock.bootMs
        self.projectClockOffsetMs = projectClockOffsetMs
        knowsTime = true
    }

    /// Counts this process's connections to Redis: what an earlier one still delivers must not be carried out.
    private(set) var connection = 1
    func connectionChanged() {
        isReady = false
        connection += 1
    }
    func blockIsWritten() { blockedAt = loop.now }

    /// Counts FCM's answer to a request.
    func countAnswer(_ verdicts: AnswerVerdicts) {
        answers.add(refusedForMs: verdicts.others.lazy.compactMap(\.verdict.refusedForMs).max(), now: loop.now)
    }

    var leaseName: String { leases.name(in: project.id) }
    var leaseHolds: Bool { SystemClock.bootNs < leases.validUntil(project.id) }
    var isHeld: Bool { loop.now < heldUntil }

    func hold(milliseconds: Int64) {
        guard milliseconds > 0 else { return }
        // What was lent before was lent for another time.
        permits.drop()
        heldUntil = max(heldUntil, loop.now + UInt64(min(milliseconds, 21_600_000)) * 1_000_000)
    }

    /// Multicast sends a whole batch in one request, so its leave covers the batch.
    var window: Int { project.transport == .legacy ? 1_000 : configuration.window }
}
