internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// One project in one worker: builds its roles, connects them, and takes it from registration to the end of a drain.
final class ProjectRunner {
    let context: ProjectContext
    let intake: Intake
    let gauges: ProjectGauges
    private let credentials: Credentials
    private let router: TransportRouter
    private let writer: FlushWriter
    private let sends: SendDriver
    private let claimer: Claimer
    private let reclaimer: Reclaimer
    private let copier: AudienceCopier
    private let janitor: Janitor
    private let stateCheck: StateCheck
    private let registration: Registration
    private let reconciler: Reconciler
    private var link: XMPPLink?
    private var needsSend = false

    var onFunctionsMissing: () -> Void = {}

    var id: String { context.project.id }

    init(context: ProjectContext) throws {
        self.context = context
        var origin = OriginConfiguration(caFile: context.configuration.caFile, proxy: context.configuration.proxy)
        origin.maxLanes = context.configuration.maxLanes
        credentials = try Credentials(project: context, origin: origin)
        let source = credentials.source
        if let project = source.projectID { context.machine.credentialProject = project }
        router = TransportRouter(
            loop: context.loop,
            origin: origin,
            project: context,
            credentialProject: source.projectID
        )
        writer = FlushWriter(project: context)
        sends = SendDriver(project: context, router: router, credentials: source, writer: writer)
        claimer = Claimer(project: context, sends: sends)
        intake = Intake(project: context, claimer: claimer, sends: sends)
        reclaimer = Reclaimer(project: context, intake: intake)
        copier = AudienceCopier(project: context)
        janitor = Janitor(project: context)
        stateCheck = StateCheck(project: context)
        registration = Registration(project: context)
        reconciler = Reconciler(project: context, claimer: claimer, intake: intake, sends: sends, writer: writer)
        gauges = ProjectGauges(project: context, router: router, credentials: source)
        if let pool = router.xmpp, let serverKey = credentials.serverKey {
            link = XMPPLink(project: context, pool: pool, credential: serverKey)
        }
        connect()
    }

    private func connect() {
        sends.onClaimDue = { [weak self] isStarved in
            guard let self else { return }
            if isStarved { claimer.starved() } else { claimer.claim(afterMs: 0) }
        }
        credentials.onChange = { [weak self] isStuck in
            guard let self else { return }
            needsSend = true
            if isStuck { sends.handle(.giveUp) }
        }
        claimer.onCopying = { [weak self] job in self?.copier.copy(job) }
        claimer.onLeaseLost = { [weak self] name in self?.fenced(name: name) }
        context.coalescer.onFunctionsMissing = { [weak self] in self?.onFunctionsMissing() }
        context.coalescer.onRefused = { [weak self] error in self?.stateCheck.refused(error) }
        reclaimer.onFreed = { [weak self] in self?.claimer.claim(afterMs: 0) }
        copier.onWhole = { [weak self] in self?.claimer.claim(afterMs: 0) }
        registration.onRegistered = { [weak self] newsCursor in
            self?.claimer.registered(newsCursor: newsCursor)
            self?.claimer.claim(afterMs: 0)
        }
        reconciler.onReady = { [weak self] in
            self?.needsSend = true
            self?.claimer.claim(afterMs: 0)
        }
        writer.onConfirmed = { [weak self] in self?.needsSend = true }
        context.loop.onTurnEnd { [weak self] in self?.turnEnded() }
    }

    /// What a turn has confirmed is acted on once, at its end. Room that answers have made is filled as they come.
    private func turnEnded() {
        if context.quarantine.isAwaited {
            context.quarantine.report(id, isQuiet: context.machine.inFlight == 0 && isWritten)
        }
        guard needsSend else { return }
        needsSend = false
        sends.send()
    }

    // MARK: Life

    func start() {
        credentials.start()
        janitor.start()
        let (loop, configuration) = (context.loop, context.configuration)
        loop.every(milliseconds: configuration.leaseMs / 2) { [weak self] in self?.reclaimer.claimEntries() }
        loop.every(milliseconds: 1_000) { [weak self] in
            guard let self else { return }
            context.leases.setInFlight(context.machine.inFlight, in: id)
            if configuration.awaitsReplicas { writer.checkReplicas() }
        }
        loop.every(milliseconds: 50) { [weak self] in
            self?.needsSend = true
            self?.reconciler.reconcileIfDue()
        }
    }

    /// Whether entries may be read: the stream's group exists and the worker is registered.
    var isReady: Bool { registration.hasGroup && context.leaseHolds && !context.isDraining }

    /// Redis is there, for the first time or again.
    func connected(isSameServer: Bool) {
        registration.createGroup()
        stateCheck.check()
        if !isSameServer { claimer.readNewsAgain() }
        reconciler.connected(isSameServer: isSameServer)
        // A name that was held is only renewed: after it was declared dead it must not come back with batches of others.
        if registration.isRegistered { claimer.claim(afterMs: 0) } else { registration.register() }
    }

    /// The connection is gone: what this worker holds has to be asked anew.
    func disconnected() {
        context.connectionChanged()
        writer.disconnected()
    }

    func createGroup() { registration.createGroup() }

    func observed(_ counters: [(worker: String, counter: String)]) { reclaimer.observe(counters) }

    /// This worker was declared dead: what it knows goes in as late facts, and it comes back under a new name.
    func fenced(name: String) {
        guard name == context.leaseName else { return }
        context.logger.warning(
            "This worker was declared dead and starts over.",
            metadata: ["lease": "\(context.leaseName)"]
        )
        sends.handle(.leaseLost)
        context.leases.lost(id)
        registration.registerAgain()
    }

    /// This project may run its quarantined batches: no other of this process sends.
    func beginQuarantined() { sends.handleAndSend(.quarantineBegan) }

    // MARK: Ending

    /// Whether entries that a dead reader left are being taken over.
    var isClaiming: Bool { reclaimer.isClaiming }

    /// Whether nothing is left to do.
    var isIdle: Bool {
        claimer.plan.foundNothing && intake.isIdle && !intake.hasLeftovers && context.machine.isEmpty && writer.isIdle
    }

    private var isWritten: Bool { writer.isIdle && context.machine.isWritten }

    /// Begins nothing new. What is in flight is awaited by ``isDrained``.
    func drain() { sends.handle(.drain) }

    var isDrained: Bool {
        needsSend = true
        return intake.isIdle && !claimer.plan.isAsking && context.machine.inFlight == 0 && isWritten
    }

    /// Gives back what is still held, so that another worker has it at once.
    func leave(_ completion: @escaping () -> Void) {
        guard context.redis.state == .ready else { return completion() }
        let name = context.leaseName
        context.leases.lost(id)
        context.redis.send(FunctionLibrary.deregister(context.keys, worker: name), timeoutMs: 1_000) { _ in completion()
        }
    }

    func close() {
        router.close()
        credentials.close()
    }
}
