internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Performs what the project's ``SendMachine`` decides: hands requests to the router and flushes to the flush writer, arms
/// timers, counts and logs.
final class SendDriver {
    private let project: ProjectContext
    private let router: TransportRouter
    private let credentials: any CredentialSource
    private let writer: FlushWriter
    private let specs: JobSpecLoader
    private let rates: RateClient
    private let tracer = BatchTracer()
    private var spans: [Int: BatchSpan] = [:]
    private var actions: [SendAction] = []
    private var isPerforming = false

    /// Called when a claim is due; `isStarved` where sends wait for permits.
    var onClaimDue: (_ isStarved: Bool) -> Void = { _ in }

    init(project: ProjectContext, router: TransportRouter, credentials: any CredentialSource, writer: FlushWriter) {
        self.project = project
        self.router = router
        self.credentials = credentials
        self.writer = writer
        specs = JobSpecLoader(project: project)
        rates = RateClient(project: project)
        router.onCompletion = { [weak self] tag, outcome in self?.handle(.completed(tag: tag, outcome)) }
        router.onRoom = { [weak self] in self?.send() }
        writer.onAnswer = { [weak self] event in self?.handle(event) }
        specs.onAnswer = { [weak self] event in self?.handleAndSend(event) }
        rates.onAnswer = { [weak self] event in self?.handleAndSend(event) }
    }

    func handle(_ event: SendEvent) {
        project.machine.handle(event, now: project.instant, into: &actions)
        perform()
    }

    /// Handles an event that may let sends begin.
    func handleAndSend(_ event: SendEvent) {
        handle(event)
        send()
    }

    /// Begins the sends that may begin.
    func send() {
        readResources()
        project.machine.send(within: router.room, now: project.instant, into: &actions)
        perform()
    }

    /// Reads what the gate has to know of other parts.
    func readResources() {
        let quarantine = project.quarantine
        var resources = SendGate.Resources()
        resources.leaseHolds = project.leaseHolds
        resources.credential = credentials.readiness()
        resources.credentialGeneration = credentials.generation
        resources.isCredentialStuck = credentials.isStuck
        resources.isQuarantineOpen = quarantine.admits(project.project.id)
        resources.isQuarantineHeld = quarantine.holder != nil
        project.machine.gate.resources = resources
    }

    /// Performs the actions in their order, those that come meanwhile behind them.
    private func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < actions.count {
            perform(actions[next])
            next += 1
        }
        actions.removeAll(keepingCapacity: true)
        isPerforming = false
    }

    private func perform(_ action: SendAction) {
        switch action {
        case .send(let request): router.send(request, headers: credentials.headers.lines(request.headers))
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
        case .loadSpec(let job): specs.load(job)
        case .giveUpJobLater(let job):
            project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.handle(.giveUpJob(job)) }
        case .enterQuarantine: project.quarantine.enter(project.project.id)
        case .leaveQuarantine: project.quarantine.leave(project.project.id)
        case .checkRate(let check): rates.check(check)
        case .requestManagement(let count): rates.requestManagement(count)
        case .arm(let timer, let time): arm(timer, at: time)
        case .claim: onClaimDue(false)
        case .claimPermits: onClaimDue(true)
        case .refuseCredential(let generation): credentials.refused(generation)
        case .renewCredential(let generation): credentials.renew(generation)
        case .retryCredential: credentials.retryFailed()
        case .meter(let meter): project.meters.count(meter)
        case .log(let log): project.logger.write(log)
        case .batchBegan(let slot): beginSpan(slot)
        case .batchEnded(let slot, let outcome): spans.removeValue(forKey: slot)?.end(outcome)
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

    private func beginSpan(_ slot: Int) {
        guard tracer.isEnabled, let batch = project.machine.batch(slot), let job = project.machine.job(of: slot) else {
            return
        }
        spans[slot] = tracer.begin(batch, spec: job.spec, project: project.project.id)
    }
}

extension Logger {
    /// Writes a line that a decision asks for.
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
