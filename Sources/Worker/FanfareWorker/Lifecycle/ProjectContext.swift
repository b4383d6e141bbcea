internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import HTTPLanes
internal import Logging
internal import StreamWire

/// The state that the roles of one project share: connection, names, clocks, and whether sends may begin.
final class ProjectContext {
    let loop: EventLoop
    let redis: ProjectConnection
    let configuration: WorkerConfiguration
    private(set) var project: WorkerConfiguration.Project
    let keys: ProjectKeys
    let leases: LeaseTable
    let logger: Logger

    /// Whether FCM and the token endpoint can be reached.
    lazy var reachability = Reachability(messages: project.traits.service)
    /// The decisions on sends, performed by ``SendDriver``.
    var machine: SendMachine
    let quarantine: Quarantine
    /// The pools of all projects of the process.
    let pools: PoolGroup
    let tokenConnections: TokenConnections
    let registration: WorkerRegistration
    let registry: MetricRegistry
    let meters: ProjectMeters
    /// Whether this is the first project on its connection: all projects of a server share its memory, and one reports it.
    var isFirst = false
    /// See ``ClaimPlan/isQuiet``; kept here because a thousand projects are asked many times a second. This worker
    /// holds nothing of a quiet project: a claim precedes an entry that it reads.
    var isQuiet = false {
        didSet {
            guard isQuiet != oldValue else { return }
            onQuietChange()
            // An XMPP connection is this worker's as long as its lease.
            if isQuiet, project.traits.route.isHTTP { leases.rest(project.id) } else { endRest() }
        }
    }
    var onQuietChange: () -> Void = {}
    /// Whether every worker of the project knows compact jobs: an older one could not take them over.
    var knowsCompactJobs = false
    /// Timers that last until ``close()``.
    private var timers: [SharedTimers.ID] = []
    private let sharedTimers: SharedTimers

    init(
        loop: EventLoop,
        redis: any CommandConnection,
        configuration: WorkerConfiguration,
        project: WorkerConfiguration.Project,
        leases: LeaseTable,
        quarantine: Quarantine,
        pools: PoolGroup = PoolGroup(),
        tokenConnections: TokenConnections = TokenConnections(),
        timers: SharedTimers? = nil,
        registry: MetricRegistry,
        logger: Logger
    ) {
        sharedTimers = timers ?? SharedTimers(loop: loop)
        self.registry = registry
        registration = WorkerRegistration(configuration)
        meters = ProjectMeters(project: project.id, transport: project.transport, registry: registry)
        machine = SendMachine(
            SendMachine.Settings(configuration, project),
            seed: .random(in: 0 ... .max),
            messageNonce: .random(in: 0 ... .max)
        )
        machine.credentialProject = project.id
        self.quarantine = quarantine
        self.pools = pools
        self.tokenConnections = tokenConnections
        self.loop = loop
        self.configuration = configuration
        self.project = project
        self.leases = leases
        connection = leases.nextConnection()
        keys = ProjectKeys(prefix: configuration.prefix, project: project.id)
        var logger = logger
        logger[metadataKey: "project"] = "\(project.id)"
        self.logger = logger
        self.redis = ProjectConnection(
            redis,
            loop: loop,
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
    /// The same for Redis, which recognises by it that its own clock was set; 0 before the first answer of Redis.
    var workerClockMs: Int64 { knowsTime ? nowMs : 0 }
    /// The time of day by Redis' clock in Unix milliseconds, as producers and FCM use it.
    var wallMs: Int64 { nowMs - projectClockOffsetMs }

    /// How much later the project's time may be at Redis: it was read while this worker waited for the answer.
    private var projectClockErrorMs: Int64 = 0

    /// - Parameter askedNs: when Redis was asked, in nanoseconds since boot.
    func syncClock(projectMs: Int64, projectClockOffsetMs: Int64, askedNs: UInt64) {
        let nowNs = SystemClock.bootNs
        clockOffsetMs = projectMs - Int64(nowNs / 1_000_000)
        projectClockErrorMs = Int64((nowNs - min(nowNs, askedNs)) / 1_000_000) + 1
        self.projectClockOffsetMs = projectClockOffsetMs
        knowsTime = true
    }

    /// Counts this process's connections to Redis: a command that an earlier one still delivers must not be executed.
    private(set) var connection: Int
    func connectionChanged() { connection = leases.nextConnection() }
    var leaseName: String { lease.name }
    /// Called before any call to Redis that may give this worker something.
    func endRest() {
        if lease.isResting { leases.wake(project.id, until: SystemClock.bootNs + configuration.leaseSpanNs) }
    }
    var leaseHolds: Bool { SystemClock.bootNs < lease.validUntil }
    /// Read again after each change, because every send asks for it.
    private var lease: Lease {
        let version = leases.version
        if version != knownLease?.version { knownLease = (version, leases.lease(in: project.id)) }
        return knownLease?.lease ?? leases.lease(in: project.id)
    }
    private var knownLease: (version: Int, lease: Lease)?

    /// The moment at which an event is handled.
    var instant: Instant { instant(at: loop.now) }
    /// The moment of this call. A turn may be long, and the process may have been frozen in it.
    var presentInstant: Instant { instant(at: SystemClock.bootNs) }

    private func instant(at nowNs: UInt64) -> Instant {
        Instant(
            monotonicNs: nowNs,
            projectMs: Int64(nowNs / 1_000_000) + clockOffsetMs,
            projectClockOffsetMs: projectClockOffsetMs,
            projectClockErrorMs: projectClockErrorMs
        )
    }

    // MARK: Life

    /// Runs `body` again and again until ``close()``.
    func every(milliseconds interval: Int64, _ body: @escaping () -> Void) {
        timers.append(sharedTimers.every(milliseconds: interval, body))
    }

    func close() {
        for timer in timers { sharedTimers.cancel(timer) }
        timers = []
    }

    /// Takes up new settings of the pace; see `ReloadPlan`.
    func update(_ project: WorkerConfiguration.Project) {
        self.project = project
        machine.settings.quotaPerMinute = project.quotaPerMinute
    }

    // MARK: The gate

    /// Redis answers, and this worker's batches were compared on this connection.
    var isReady: Bool {
        get { machine.gate.isReady }
        set { machine.gate.isReady = newValue }
    }

    var isDraining: Bool { machine.gate.isDraining }

    /// Learns from the outcome of a request to a service.
    func observe(_ outcome: RequestOutcome, of service: Reachability.Service) {
        reachability.observe(outcome, of: service, nowMs: wallMs, now: loop.now)
    }

    /// Why workers accept no more jobs; nil if they do.
    var pressure: String? { machine.gate.pressure }
}

extension SendMachine.Settings {
    fileprivate init(_ configuration: WorkerConfiguration, _ project: WorkerConfiguration.Project) {
        self.init()
        protocols = project.protocols
        maximumInFlight = configuration.maximumInFlight
        window = project.traits.isMulticast ? Batch.maximumSize : configuration.window
        flushMs = configuration.flushMs
        quotaPerMinute = project.quotaPerMinute
        retryPercent = configuration.retryPercent
        if let waitMs = configuration.simulatedRetryMs { (policy.baseMs, policy.maximumFloorMs) = (waitMs, waitMs) }
        canRefreshCredential = project.credential != nil
    }
}
