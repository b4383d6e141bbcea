internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Performs the actions of the project's ``SendMachine``. It hands requests to the router and flushes to the flush writer,
/// and loads specs and checks rates in Redis. It arms timers, counts and logs.
final class SendDriver {
    private let project: ProjectContext
    private let router: TransportRouter
    private let credentials: any CredentialSource
    private let writer: FlushWriter
    private let tracer = BatchTracer()
    private var spans: [Int: BatchSpan] = [:]
    private let queue = ActionQueue<SendAction>()
    /// Whether ``send()`` follows with the loop's next timers.
    private var willSend = false

    private static let specRetryMs: Int64 = 200
    private static let rateRetryMs: Int64 = 1_000

    /// Called when a claim is due; `isStarved` where sends wait for permits.
    var onClaimDue: (_ isStarved: Bool) -> Void = { _ in }

    init(project: ProjectContext, router: TransportRouter, credentials: any CredentialSource, writer: FlushWriter) {
        self.project = project
        self.router = router
        self.credentials = credentials
        self.writer = writer
        router.onCompletion = { [weak self] tag, outcome in self?.handle(.completed(tag: tag, outcome)) }
        router.onRoom = { [weak self] in self?.send() }
        writer.onAnswer = { [weak self] event in self?.handle(event) }
    }

    func handle(_ event: SendEvent) {
        project.machine.handle(event, now: project.instant, into: &queue.actions)
        queue.perform { perform($0) }
    }

    /// Handles an event that may let sends begin.
    func handleAndSend(_ event: SendEvent) {
        handle(event)
        send()
    }

    /// The same for one of several events that come together: their sends begin with the loop's next timers.
    func handleAndSendSoon(_ event: SendEvent) {
        handle(event)
        guard !willSend else { return }
        willSend = true
        project.loop.schedule(afterNanoseconds: 0) { [weak self] in
            self?.willSend = false
            self?.send()
        }
    }

    /// Begins the sends that may begin.
    func send() {
        readResources()
        project.machine.send(within: router.room, now: project.presentInstant, into: &queue.actions)
        queue.perform { perform($0) }
    }

    /// Reads the state of other parts for the gate.
    func readResources() {
        let quarantine = project.quarantine
        var resources = SendGate.Resources()
        resources.leaseHolds = project.leaseHolds
        resources.credential = credentials.readiness()
        resources.credentialGeneration = credentials.generation
        resources.isTokenFresh = credentials.isFresh
        resources.credentialFingerprint = credentials.fingerprint
        resources.isCredentialStuck = credentials.isStuck
        resources.isQuarantineOpen = quarantine.gate.admits(project.project.id)
        resources.isQuarantineHeld = quarantine.gate.isExclusive
        project.machine.gate.resources = resources
    }

    private func perform(_ action: SendAction) {
        switch action {
        case .send(let tag, let request):
            guard project.machine.mayBegin(tag, now: project.presentInstant) else {
                return handle(.completed(tag: tag, .unsent(reason: "this worker was not running")))
            }
            router.send(tag: tag, request)
        case .flush(let flush): writer.write(flush)
        case .release(let batch, let epoch, let watermark):
            project.redis.send(
                FunctionLibrary.release(
                    project.keys,
                    worker: project.leaseName,
                    batch: batch,
                    epoch: epoch,
                    watermark: watermark
                )
            ) { _ in }
        case .loadSpec(let job): loadSpec(of: job)
        case .giveUpJobLater(let job):
            project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.handle(.giveUpJob(job)) }
        case .enterQuarantine(let mode): project.quarantine.handle(.enter(project.project.id, mode))
        case .leaveQuarantine: project.quarantine.handle(.leave(project.project.id))
        case .checkRate(let check): checkRate(check)
        case .requestManagement(let count): requestManagement(count)
        case .arm(let timer, let time): arm(timer, at: time)
        case .claim: onClaimDue(false)
        case .claimPermits: onClaimDue(true)
        case .refuseCredential(let generation): credentials.refused(generation)
        case .renewCredential(let generation): credentials.renew(generation)
        case .retryCredential: credentials.retryFailed()
        case .meter(let meter): project.meters.count(meter)
        case .log(let log): project.logger.write(log)
        case .batchBegan(let slot): beginSpan(slot)
        case .batchEnded(let slot, let outcome):
            if !spans.isEmpty { spans.removeValue(forKey: slot)?.end(outcome) }
        }
    }

    private func arm(_ timer: SendTimer, at time: UInt64) {
        let now = project.loop.now
        project.loop.schedule(afterNanoseconds: time > now ? time - now : 0) { [weak self] in
            guard let self else { return }
            switch timer {
            case .flush: handle(.timer(.flush))
            case .wake: handleAndSend(.timer(.wake))
            }
        }
    }

    // MARK: Redis

    private func loadSpec(of job: String) {
        project.redis.send(FunctionLibrary.spec(project.keys, job: job)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value):
                if let spec = JobSpec(value) { return handleAndSend(.specLoaded(job: job, spec)) }
                handleAndSend(value.array?.isEmpty == true ? .specMissing(job: job) : .specUnreadable(job: job))
            case .failure:
                project.meters.redisFailed()
                project.loop.schedule(afterMilliseconds: Self.specRetryMs) { [weak self] in self?.loadSpec(of: job) }
            }
        }
    }

    /// Asks for the rate of one recipient, which all workers share.
    private func checkRate(_ check: RateCheck) {
        let command = FunctionLibrary.pace(project.keys, recipient: check.name, nowMs: project.workerClockMs)
        project.redis.send(command) { [weak self] result in
            let waitMs = (try? result.get())?.integer ?? Self.rateRetryMs
            self?.handleAndSend(.rateChecked(check, waitMs: waitMs))
        }
    }

    /// FCM takes 3,000 operations a second of a project, whichever worker they come from, so Redis spaces them.
    private func requestManagement(_ count: Int) {
        project.redis.send(FunctionLibrary.manage(project.keys, count: count)) { [weak self] result in
            guard let self else { return }
            let waitMs = (try? result.get())?.integer ?? Self.rateRetryMs
            guard waitMs > 0 else { return handleAndSend(.managementGranted(count)) }
            project.loop.schedule(afterMilliseconds: min(waitMs, Self.rateRetryMs)) { [weak self] in
                guard let self, !project.isDraining else { return }
                requestManagement(count)
            }
        }
    }

    // MARK: Spans

    private func beginSpan(_ slot: Int) {
        guard tracer.isEnabled, let batch = project.machine.batch(slot), let job = project.machine.job(of: slot) else {
            return
        }
        spans[slot] = tracer.begin(
            batch,
            spec: job.spec,
            project: project.project.id,
            keys: project.keys,
            wallMs: project.wallMs
        )
    }
}

extension Logger {
    /// Writes the log line of a decision.
    fileprivate func write(_ log: SendLog) {
        let level: Level =
            switch log.level {
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        self.log(
            level: level,
            "\(log.message)",
            metadata: Metadata(log.metadata.map { ($0.name, "\($0.value)") }) { first, _ in first }
        )
    }
}
