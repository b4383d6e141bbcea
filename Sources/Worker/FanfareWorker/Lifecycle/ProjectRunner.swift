internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// One project in one worker: builds its roles, connects them, and takes it from registration to the end of a drain.
final class ProjectRunner {
    let context: ProjectContext
    let intake: Intake
    private let claimer: Claimer
    private let planner: Planner
    private let dispatcher: Dispatcher
    private let recorder: Recorder
    private let reclaimer: Reclaimer
    private let copier: AudienceCopier
    private let janitor: Janitor
    private let stateCheck: StateCheck
    let gauges: ProjectGauges
    private let router: TransportRouter
    private var link: XMPPLink?
    private let tokenLanes: LanePool?
    private let refresher: TokenRefresher?
    private var isRegistering = false
    private var hasRegistered = false
    private var isPrepared = false

    var id: String { context.project.id }

    init(context: ProjectContext) throws {
        self.context = context
        var origin = OriginConfiguration(caFile: context.configuration.caFile, proxy: context.configuration.proxy)
        origin.maxLanes = context.configuration.maxLanes
        let credentials: any CredentialSource
        var serverKey: ServerKeyCredential?
        if let file = context.project.serviceAccount {
            let account = try ServiceAccount.parse(file)
            let tokenLanes = LanePool(loop: context.loop, configuration: origin)
            let refresher: TokenRefresher
            do {
                refresher = try TokenRefresher(project: context, account: account, lanes: tokenLanes)
            } catch {
                // A key that cannot be read; nobody else would close the pool.
                tokenLanes.close()
                throw error
            }
            self.tokenLanes = tokenLanes
            self.refresher = refresher
            credentials = refresher
        } else {
            tokenLanes = nil
            refresher = nil
            let key = ServerKeyCredential(
                serverKey: context.project.serverKey ?? "",
                senderID: context.project.senderID ?? ""
            )
            serverKey = key
            credentials = key
        }
        router = TransportRouter(
            loop: context.loop,
            origin: origin,
            project: context,
            credentialProject: credentials.projectID
        )
        recorder = Recorder(project: context)
        let rateLimiter = RecipientRateLimiter(project: context)
        self.rateLimiter = rateLimiter
        let settler = Settler(project: context, recorder: recorder, policy: RetryPolicy(), rateLimiter: rateLimiter)
        dispatcher = Dispatcher(
            project: context,
            router: router,
            credentials: credentials,
            recorder: recorder,
            settler: settler,
            rateLimiter: rateLimiter
        )
        planner = Planner(project: context, dispatcher: dispatcher, settler: settler)
        claimer = Claimer(
            project: context,
            dispatcher: dispatcher,
            planner: planner,
            credentials: credentials
        )
        intake = Intake(project: context, claimer: claimer, planner: planner)
        reclaimer = Reclaimer(project: context, intake: intake)
        copier = AudienceCopier(project: context)
        janitor = Janitor(project: context)
        stateCheck = StateCheck(project: context)
        gauges = ProjectGauges(
            project: context,
            dispatcher: dispatcher,
            recorder: recorder,
            router: router,
            credentials: credentials
        )
        self.settler = settler
        if let pool = router.xmpp, let serverKey {
            link = XMPPLink(project: context, pool: pool, credential: serverKey)
        }
        connect()
    }

    private let settler: Settler
    private let rateLimiter: RecipientRateLimiter

    private func connect() {
        recorder.onProgress = { [weak self] in self?.needsPump = true }
        dispatcher.onDemand = { [weak self] in self?.claimer.askLater(0) }
        dispatcher.onStarved = { [weak self] in self?.claimer.starved() }
        claimer.onNews = { [weak self] news in self?.heard(news) }
        refresher?.onChange = { [weak self] in
            guard let self else { return }
            needsPump = true
            if refresher?.isStuck == true { planner.giveUpAll() }
        }
        claimer.onCopying = { [weak self] job in self?.copier.copy(job) }
        claimer.onFenced = { [weak self] name in self?.fenced(name: name) }
        context.coalescer.onFunctionsMissing = { [weak self] in self?.onFunctionsMissing() }
        context.coalescer.onRefused = { [weak self] error in self?.stateCheck.refused(error) }
        reclaimer.onFreed = { [weak self] in self?.claimer.askLater(0) }
        copier.onWhole = { [weak self] in self?.claimer.askLater(0) }
        context.loop.onTurnEnd { [weak self] in self?.turnEnded() }
    }

    private func heard(_ news: [News]) {
        for event in news {
            switch event {
            case .stop(let job, let epoch): planner.stop(job, epoch: epoch)
            case .end(let job, let status): planner.end(job, status: status)
            case .rate(let recipient, let untilMs): rateLimiter.refused(recipient, untilMs: untilMs)
            }
        }
    }

    private var needsPump = false
    var onFunctionsMissing: () -> Void = {}

    /// What a turn has confirmed is acted on once, at its end. Room that answers have made is filled as they come.
    private func turnEnded() {
        if context.quarantine.isAwaited {
            context.quarantine.report(id, isQuiet: dispatcher.inFlight == 0 && recorder.isIdle)
        }
        guard needsPump else { return }
        needsPump = false
        planner.sweep()
        dispatcher.pump()
    }

    // MARK: Life

    func start() {
        refresher?.start()
        janitor.start()
        every(milliseconds: context.configuration.leaseMs / 2) { [weak self] in self?.reclaimer.claimEntries() }
        every(milliseconds: 1_000) { [weak self] in
            guard let self else { return }
            context.leases.setInFlight(dispatcher.inFlight, in: id)
        }
        if context.configuration.awaitsReplicas {
            every(milliseconds: 1_000) { [weak self] in self?.recorder.checkReplicas() }
        }
        every(milliseconds: 50) { [weak self] in
            self?.needsPump = true
            self?.reconcileNowAndThen()
        }
    }

    private func every(milliseconds: Int64, _ body: @escaping () -> Void) {
        context.loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self else { return }
            body()
            every(milliseconds: milliseconds, body)
        }
    }

    /// The stream's group exists and the worker is registered: entries may be read.
    var isReady: Bool { isPrepared && context.leaseHolds && !context.isDraining }

    /// Redis is there, for the first time or again.
    func connected(isSameServer: Bool) {
        context.isReady = false
        if context.configuration.usesSentinels {
            failoverPause.connected(isSameServer: isSameServer, now: context.loop.now)
        }
        createGroup()
        stateCheck.check()
        // Another server's news may have other numbers; to hear them twice does no harm.
        if !isSameServer { claimer.hearAgain() }
        resume(isSameServer: isSameServer)
        // A name that was held is only ever renewed: after a burial it must not rise with batches that are others' now.
        if hasRegistered { claimer.askLater(0) } else { register() }
    }

    /// A claim or a hand-over whose answer is still to come would look like one that was lost.
    private func resume(isSameServer: Bool) {
        guard isQuietToRedis else {
            context.loop.schedule(afterMilliseconds: 10) { [weak self] in
                guard let self, context.redis.state == .ready, !context.isReady else { return }
                resume(isSameServer: isSameServer)
            }
            return
        }
        recorder.reconnected(isSameServer: isSameServer, held: Array(planner.held.values)) {
            reconcile(isSameServer: isSameServer)
        }
    }

    private var lastReconciled: UInt64 = 0
    private var isQuietToRedis: Bool { !claimer.isAskingNow && intake.isIdle }

    /// What only Redis believes to be ours, because an answer was not understood or a call failed, is given back.
    private func reconcileNowAndThen() {
        let lease = UInt64(context.configuration.leaseMs) * 1_000_000
        guard context.isReady, context.leaseHolds, !context.isDraining, isQuietToRedis,
            context.loop.now > lastReconciled + lease
        else { return }
        reconcile(isSameServer: true)
    }

    /// The connection is gone: whatever is ours has to be asked anew.
    func disconnected() {
        context.connectionChanged()
        recorder.disconnected()
    }

    /// An answer may have been lost with the connection, and with it a claim that only Redis knows of.
    private func reconcile(isSameServer: Bool) {
        let command = FunctionLibrary.reconcile(
            context.keys,
            worker: context.leaseName,
            connection: context.connection,
            isSameServer: isSameServer,
            known: planner.known
        )
        lastReconciled = context.loop.now
        context.redis.send(command) { [weak self] result in
            guard let self, context.redis.state == .ready else { return }
            switch result {
            case .success(let value):
                let forgotten = planner.lost(value.array?.dropFirst().compactMap(\.string) ?? [])
                if forgotten > 0 {
                    context.logger.warning(
                        "Redis came back with an older state; batches that it forgot are taken over.",
                        metadata: ["batches": "\(forgotten)"]
                    )
                }
                beginAfterPause()
            case .failure(let error):
                context.logger.warning("What is ours cannot be asked yet.", metadata: ["error": "\(error)"])
                context.loop.schedule(afterMilliseconds: 200) { [weak self] in
                    guard let self, context.redis.state == .ready, !context.isReady else { return }
                    reconcile(isSameServer: isSameServer)
                }
            }
        }
    }

    private var failoverPause = FailoverPause()

    private func beginAfterPause() {
        let remainingNs = failoverPause.remainingNs(now: context.loop.now)
        guard remainingNs > 0 else {
            context.isReady = true
            needsPump = true
            return claimer.askLater(0)
        }
        let connection = context.connection
        context.loop.schedule(afterNanoseconds: remainingNs) { [weak self] in
            guard let self, connection == context.connection, context.redis.state == .ready, !context.isReady else {
                return
            }
            beginAfterPause()
        }
    }

    func createGroup() {
        context.redis.send(JobStream.createGroup(context.keys)) { [weak self] result in
            // BUSYGROUP says that it is there already.
            if case .failure(let error) = result, !error.message.contains("BUSYGROUP") {
                self?.context.logger.error("The job stream cannot be prepared.", metadata: ["error": "\(error)"])
                self?.context.loop.schedule(afterMilliseconds: 1_000) { [weak self] in
                    guard let self, !isPrepared, context.redis.state == .ready else { return }
                    createGroup()
                }
            } else {
                self?.isPrepared = true
            }
        }
    }

    private func register() {
        guard !isRegistering, !context.isDraining else { return }
        isRegistering = true
        let sentAt = SystemClock.bootNs
        context.redis.send(FunctionLibrary.register(context.keys, worker: context.leaseName)) { [weak self] result in
            guard let self else { return }
            isRegistering = false
            switch result {
            case .success(let value):
                hasRegistered = true
                claimer.heardUpTo(value.array?.dropFirst().first?.string ?? "0")
                context.leases.hold(id, until: sentAt + context.configuration.leaseSpanNs)
                claimer.askLater(0)
            case .failure(let error):
                context.logger.error("The worker cannot register.", metadata: ["error": "\(error)"])
                context.loop.schedule(afterMilliseconds: 1_000) { [weak self] in
                    guard let self, context.redis.state == .ready, !context.leaseHolds else { return }
                    register()
                }
            }
        }
    }

    func observed(_ counters: [(worker: String, counter: String)]) { reclaimer.observe(counters) }

    /// This project runs alone from now on.
    func beginQuarantined() { planner.beginQuarantined() }

    /// Declared dead: nothing is ours any more, what is known goes in as late facts, and we come back under a new name.
    func fenced(name: String) {
        guard name == context.leaseName else { return }
        context.logger.warning(
            "This worker was declared dead and starts over.",
            metadata: ["lease": "\(context.leaseName)"]
        )
        recorder.flushAll()
        planner.fence()
        _ = dispatcher.dropUnsent()
        context.leases.lost(id)
        hasRegistered = false
        register()
    }

    // MARK: Ending

    /// Entries that a dead reader left are being taken over.
    var isClaiming: Bool { reclaimer.isClaiming }

    /// Nothing to do, nothing due, nothing under way.
    var isIdle: Bool {
        claimer.foundNothing && intake.isIdle && !intake.hasLeftovers && planner.isIdle && dispatcher.isIdle
            && recorder.isIdle
    }

    /// Begins nothing new. What is on the wire is awaited by ``isDrained``.
    func drain() {
        context.isDraining = true
        for batch in dispatcher.dropUnsent() where !batch.isFenced {
            for position in batch.takeUnsentBelowWatermark() { settler.giveBack(position, of: batch) }
        }
        recorder.flushAll()
    }

    var isDrained: Bool {
        needsPump = true
        return intake.isIdle && !claimer.isAskingNow && planner.isSettled && dispatcher.inFlight == 0
            && recorder.isIdle
    }

    /// Gives back what is still held, so that another worker has it at once.
    func leave(_ completion: @escaping () -> Void) {
        guard context.redis.state == .ready else { return completion() }
        let name = context.leaseName
        context.leases.lost(id)
        context.redis.send(FunctionLibrary.leave(context.keys, worker: name), timeoutMs: 1_000) { _ in completion() }
    }

    func close() {
        router.close()
        tokenLanes?.close()
    }
}
