internal import EventLoop
internal import FanfareCore
internal import HTTPLanes
internal import RedisTransport
internal import StreamWire

/// One project in one worker: builds its roles, connects them, and takes it from registration to the end of a drain.
final class ProjectRunner {
    let context: ProjectContext
    let intake: Intake
    let gauges: ProjectGauges
    private let history: HistoryRecorder
    private let credentials: any CredentialSource
    private let channels: ProjectChannels
    let writer: FlushWriter
    private let sends: SendDriver
    let claimer: Claimer
    let reclaimer: Reclaimer
    private let copier: AudienceCopier
    let janitor: Janitor
    private let stateCheck: StateCheck
    private let conditions: ConditionReporter
    let session: ProjectSession
    private var link: XMPPLink?
    private var needsSend = false { didSet { if needsSend, let turnEnd { context.loop.arm(turnEnd) } } }
    private var turnEnd: TurnEndID?
    /// Whether the worker ran the project before, under other settings.
    let isReopened: Bool

    var id: String { context.project.id }

    /// - Parameter former: what the project's runner before this one left; nil for the first one.
    init(context: ProjectContext, former: ClosedProject? = nil) throws {
        self.context = context
        isReopened = former != nil
        var origin = OriginConfiguration(caFile: context.configuration.caFile, proxy: context.configuration.proxy)
        origin.maximumLanes = context.configuration.maximumLanes
        if let reason = context.project.lostCredential {
            credentials = LostCredential(reason)
        } else if let credential = context.project.credential {
            credentials = try TokenRefresher(project: context, credential: credential, origin: origin)
        } else {
            credentials = ServerKeyCredential(context.project)
        }
        if let project = credentials.projectID { context.machine.credentialProject = project }
        channels = ProjectChannels(context, origin: origin, credentials)
        writer = FlushWriter(project: context, replayBuffer: former?.replayBuffer)
        sends = SendDriver(project: context, router: channels.router, credentials: credentials, writer: writer)
        claimer = Claimer(project: context, sends: sends)
        intake = Intake(project: context, claimer: claimer, sends: sends)
        reclaimer = Reclaimer(project: context, intake: intake, claimer: claimer)
        copier = AudienceCopier(project: context)
        janitor = Janitor(project: context)
        stateCheck = StateCheck(project: context)
        conditions = ConditionReporter(project: context, credentials: credentials)
        session = ProjectSession(
            project: context,
            claimer: claimer,
            intake: intake,
            sends: sends,
            writer: writer,
            former: former
        )
        gauges = ProjectGauges(project: context, channels: channels, credentials: credentials)
        history = HistoryRecorder(project: context, gauges: gauges)
        if let pool = channels.xmpp, let serverKey = credentials as? ServerKeyCredential {
            link = XMPPLink(project: context, pool: pool, credential: serverKey)
        }
        connect()
    }

    private func connect() {
        sends.onClaimDue = { [weak self] isStarved in
            guard let self else { return }
            if isStarved { claimer.starved() } else { claimer.claim(afterMs: 0) }
        }
        credentials.onChange = { [weak self] in
            guard let self else { return }
            needsSend = true
            if credentials.isStuck { sends.handle(.giveUp) }
        }
        claimer.isHandingOver = { [weak self] in self?.intake.isIdle == false }
        claimer.onCopying = { [weak self] job in self?.copier.copy(job) }
        claimer.onWindowClosed = { [weak self] job, window in self?.intake.windowClosed(job, window: window) }
        claimer.onLeaseLost = { [weak self] name in self?.session.declaredDead(name) }
        context.redis.onRefused = { [weak self] error in
            self?.stateCheck.refused(error)
            self?.conditions.refused(error)
        }
        copier.onWhole = { [weak self] in self?.claimer.claim(afterMs: 0) }
        session.onWork = { [weak self] in self?.needsSend = true }
        writer.onConfirmed = { [weak self] in self?.needsSend = true }
        turnEnd = context.loop.onArmedTurnEnd { [weak self] in self?.turnEnded() }
    }

    /// Sends once at the turn's end what its confirmations allow. Room that answers have made is filled as they come.
    private func turnEnded() {
        guard needsSend else { return }
        needsSend = false
        sends.send()
    }

    // MARK: Life

    func start() {
        credentials.start()
        janitor.start()
        history.start()
        conditions.start()
        let configuration = context.configuration
        context.every(milliseconds: configuration.leaseMs / 2) { [weak self] in
            if let self, !context.isQuiet { reclaimer.claimEntries() }
        }
        if configuration.awaitsReplicas {
            context.every(milliseconds: 1_000) { [weak self] in self?.writer.checkReplicas() }
        }
    }

    /// Whether ``tick()`` does anything, until the project becomes quiet or ends to be so.
    var needsTicks: Bool { !context.isQuiet || session.needsProbe }

    /// Called every ``tickMs``.
    func tick() {
        guard needsTicks else { return }
        needsSend = true
        session.handle(.tick)
    }

    static let tickMs: Int64 = 50
    /// Time between the checks of two projects: they take Redis longer than all else at the start of a project.
    private static let checkEveryMs: Int64 = 100

    /// Whether entries may be read: the stream's group exists and the worker is registered.
    var isReady: Bool { session.hasGroup && context.leaseHolds && !context.isDraining }

    /// Whether this worker holds nothing of the project, and has no result that Redis may lack.
    ///
    /// - Parameter isSameServer: false if Redis may lack results that it has confirmed.
    func isEmptyHanded(isSameServer: Bool) -> Bool {
        context.machine.isEmpty && isWritten && (isSameServer || writer.replayBuffer.isEmpty)
    }

    /// Whether the worker is registered, and its batches were compared on this connection.
    var isOpened: Bool { session.isRegistered && session.isCompared }

    /// The server has the functions and may be used, for the first time or again.
    ///
    /// - Parameter place: of the project among the server's.
    func connected(isSameServer: Bool, place: Int = 0) {
        let delayMs = Int64(place) * Self.checkEveryMs
        stateCheck.check(afterMs: delayMs)
        gauges.readFirst(afterMs: delayMs)
        session.handle(.connected(isSameServer: isSameServer))
    }

    /// Takes up new settings. Redis learns of a quota with a claim, and a quiet project makes few.
    func update(_ project: WorkerConfiguration.Project) {
        context.update(project)
        claimer.claim(afterMs: 0)
    }

    /// Says whether anything is in flight here that a project in quarantine waits for.
    func reportToQuarantine() {
        let isQuiet = context.machine.inFlight == 0 && isWritten
        context.quarantine.handle(isQuiet ? .quiet(id) : .busy(id))
    }

    /// This project may run its quarantined batches, which it claims next.
    func beginQuarantined(_ mode: QuarantineMode) {
        sends.handleAndSend(.quarantineBegan(mode))
        claimer.claim(afterMs: 0)
    }

    // MARK: Ending

    /// Whether nothing is left to do.
    var isIdle: Bool {
        claimer.plan.foundNothing && intake.isIdle && !intake.hasLeftovers && context.machine.isEmpty && writer.isIdle
    }

    /// Whether every decision is written to Redis.
    var isWritten: Bool { writer.isIdle && context.machine.isWritten }

    /// Begins no new send. ``isDrained`` waits for the sends in flight.
    func drain() { session.handle(.drain) }

    var isDrained: Bool { pending.isNothing }

    /// What a drain still waits for.
    var pending: DrainPlan.Pending {
        needsSend = true
        var pending = DrainPlan.Pending()
        pending.requests = context.machine.inFlight
        pending.isClaiming = claimer.plan.isAsking
        pending.isHandingOver = !intake.isIdle
        pending.hasUnwrittenResults = !isWritten
        return pending
    }

    /// Deregisters, so that another worker can claim the remaining batches at once.
    func leave(_ completion: @escaping () -> Void) {
        history.write()
        let name = context.leaseName
        context.leases.lost(id)
        guard context.redis.state == .ready else { return completion() }
        context.redis.send(FunctionLibrary.deregister(context.keys, worker: name), timeoutMs: 1_000) { _ in completion()
        }
    }

    func close() {
        session.handle(.close)
        channels.router.close()
        credentials.close()
        context.close()
        gauges.close()
        if let turnEnd { context.loop.removeTurnEnd(turnEnd) }
    }
}
