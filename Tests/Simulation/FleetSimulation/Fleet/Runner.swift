internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// Driver of one project in one worker: passes the events of Redis, FCM and the clock to the product's ``SendMachine``
/// and performs the machine's actions. It also holds the lease and the connection.
final class Runner {
    // Reference cycles, broken by `Simulation.run()` at its end.
    let world: Simulation
    let process: WorkerProcess
    let project: Int

    // Registration and lease in Redis.
    private(set) var lease: Lease
    private var isRegistering = false
    private var watch: FailureDetector
    /// The server of the previous connection; nil before the first one.
    private var server: Int?
    private var reconciledAt = 0

    // Decisions.
    var machine: SendMachine
    var plan = ClaimPlan(pollMs: 50, idlePollMs: 100)
    var actions: [SendAction] = []
    var isPerforming = false

    // Requests to Redis.
    private(set) var claimToken = 0
    private var claimDue = Int.max
    private(set) var intakes = 0
    var loading: Set<Int> = []
    var flushes = FlushTable()
    /// Redis' clock minus true time, from the last reply.
    private var clockOffsetMs: Int64 = 0

    init(world: Simulation, process: WorkerProcess, project: Int) {
        self.world = world
        self.process = process
        self.project = project
        lease = Self.lease(process)
        watch = Self.watch(world.scenario)
        machine = Self.machine(world, process, project)
    }

    private static func lease(_ process: WorkerProcess) -> Lease {
        Lease(worker: String(process.number * 10_000 + process.incarnation))
    }

    private static func watch(_ scenario: Scenario) -> FailureDetector {
        FailureDetector(leaseMs: scenario.leaseMs - scenario.renewMs / 2)
    }

    private static func machine(_ world: Simulation, _ process: WorkerProcess, _ project: Int) -> SendMachine {
        let scenario = world.scenario
        var settings = SendMachine.Settings()
        settings.maxInFlight = scenario.maxInFlight
        settings.window = scenario.window
        settings.flushCount = 16
        settings.quotaPerMinute = scenario.projects[project].quota
        settings.policy = RetryPolicy(baseMs: scenario.retryBaseMs, capMs: 8_000, shortCapMs: 2_000)
        let place = UInt64((process.number * 100 + process.incarnation) * 100 + project)
        return SendMachine(settings, seed: world.seed &+ place &* 0x9E37_79B9, messageNonce: place)
    }

    /// Clears all state at the start of a process.
    func reset() {
        lease = Self.lease(process)
        isRegistering = false
        watch = Self.watch(world.scenario)
        server = nil
        machine = Self.machine(world, process, project)
        plan = ClaimPlan(pollMs: 50, idlePollMs: 100)
        actions = []
        isPerforming = false
        claimToken += 1
        claimDue = .max
        intakes = 0
        loading = []
        flushes = FlushTable()
        clockOffsetMs = 0
    }

    var leaseName: Int { (process.number * 10_000 + process.incarnation) * 100 + lease.generation }
    var localNow: UInt64 { process.local(world.now) }
    /// The project's time. In the model it equals Redis' time of day.
    private var nowMs: Int64 { Scenario.epochMs + Int64(world.now / 1_000) + clockOffsetMs }
    var instant: Instant { Instant(monotonicNs: localNow, projectMs: nowMs) }
    var leaseHolds: Bool { lease.isHeld && (localNow < lease.validUntil || world.breaks(.sendPastLease)) }
    /// Whether nothing is in flight to FCM or to Redis.
    var isQuiet: Bool { machine.inFlight == 0 && flushes.isEmpty }
    var isDrained: Bool { !plan.isAsking && intakes == 0 && machine.isEmpty && flushes.isEmpty }

    // MARK: The connection

    /// Handles a new connection to Redis, the first or a later one.
    func connected() {
        let isSameServer = server == nil || server == world.redis.server
        server = world.redis.server
        if !isSameServer { plan.readNewsAgain() }
        for flush in flushes.open(isSameServer: isSameServer) { handle(.replay(flush)) }
        reconcile(isSameServer: isSameServer)
        for id in flushes.waiting { write(id) }
        for job in loading.sorted() { world.send(.spec(job: job), from: self) }
        // A registered name is only renewed. Registered again after its death, it would own batches that other workers
        // hold by now.
        if leaseHolds || (lease.isHeld && !world.breaks(.registerAgain)) { claimLater(0) } else { register() }
    }

    func disconnected() {
        machine.gate.isReady = false
        flushes.cut()
        handle(.redisLost)
    }

    /// Handles a call that gets no answer.
    func failed(_ call: Call) {
        switch call.request {
        case .claim: _ = plan.failed()
        case .register: isRegistering = false
        case .intake: intakes -= 1
        case .record, .renew, .declareDead, .deregister, .reconcile, .release, .spec: break
        }
    }

    /// Compares the held batches with Redis. After a lost answer Redis may list batches that this worker does not know;
    /// after a loss of state it may have forgotten some.
    func reconcile(isSameServer: Bool) {
        reconciledAt = world.now
        let request = ReconcileRequest(
            lease: leaseName,
            connection: process.data.generation,
            isSameServer: isSameServer,
            known: machine.known.compactMap { ReconcileRequest.Known($0) }
        )
        world.send(.reconcile(request), from: self)
    }

    /// Reconciles periodically, so that Redis takes back batches that this worker does not know.
    func reconcilePeriodically() {
        guard machine.gate.isReady, leaseHolds, !process.isDraining, !plan.isAsking, intakes == 0,
            world.now > reconciledAt + Int(world.scenario.leaseMs) * 1_000
        else { return }
        reconcile(isSameServer: true)
    }

    func reconciled(_ taken: [BatchName]?) {
        guard let taken else { return }
        machine.gate.isReady = true
        handle(.forgotten(taken.map(\.text)))
        claimLater(0)
    }

    // MARK: The lease

    private var leaseSpan: UInt64 {
        Lease.spanNs(leaseMs: world.scenario.leaseMs, renewMs: world.scenario.renewMs)
    }

    private func register() {
        guard !isRegistering, !process.isDraining, process.data.isReady else { return }
        isRegistering = true
        world.send(.register(leaseName), from: self)
    }

    func registered(_ call: Call) {
        isRegistering = false
        lease.hold(until: process.local(call.sentAt) + leaseSpan)
        if case .registered(let news) = call.reply { plan.registered(newsCursor: news.text) }
        claimLater(0)
    }

    func renewed(_ call: Call, lease name: Int) {
        guard name == leaseName, lease.isHeld else { return }
        guard case .renewed(let counters) = call.reply else { return fenced(name) }
        lease.renew(lease.name, until: process.local(call.sentAt) + leaseSpan)
        let named = counters.map { (worker: world.text($0.lease), counter: String($0.counter)) }
        for dead in watch.observe(named, own: world.text(leaseName), now: localNow) {
            guard process.data.isReady, let name = Int(dead.worker), let counter = Int(dead.counter) else { continue }
            world.send(.declareDead(name, counter: counter), from: self)
        }
    }

    /// Handles the loss of the lease: the worker holds nothing any more and registers under a new name.
    private func fenced(_ name: Int) {
        guard name == leaseName else { return }
        handle(.leaseLost)
        lease.lose()
        register()
    }

    // MARK: Claims

    func claimLater(_ next: ClaimPlan.Next) {
        switch next {
        case .now: claimLater(0)
        case .after(let milliseconds): claimLater(Int(max(0, milliseconds)) * 1_000)
        }
    }

    func claimLater(_ delay: Int) {
        let due = world.now + delay
        guard due < claimDue else { return }
        claimDue = due
        claimToken += 1
        world.schedule(.claim(self, token: claimToken, incarnation: process.incarnation), at: due)
    }

    func claim() {
        claimDue = .max
        if !lease.isHeld { register() }
        readResources()
        guard var call = machine.claimCall(worker: world.text(leaseName), plan: plan, now: instant) else {
            return claimLater(50_000)
        }
        call.connection = process.data.generation
        plan.sent(call)
        world.send(.claim(ClaimRequest(call, lease: leaseName)), from: self)
    }

    func answered(_ call: Call, lease: Int) {
        guard case .claim(let answer) = call.reply else {
            claimLater(plan.failed())
            return fenced(lease)
        }
        machine.answers.confirm()
        // Batches given to a name that was declared dead since then belong to other workers.
        guard lease == leaseName else {
            _ = plan.failed()
            return claimLater(0)
        }
        guard case .reply(var reply)? = StreamWire.ClaimReply.parse(answer.value(world.jobs[project])) else {
            return world.referees[project].violate("the product cannot parse \(answer)")
        }
        clockOffsetMs = reply.nowMs - Scenario.epochMs - Int64(world.now / 1_000)
        if world.breaks(.ignoreNews) { reply.news = [] }
        for at in reply.claims.indices { removeDoubt(&reply.claims[at]) }
        // The lifetime of permits counts from before the call was sent, not from its answer.
        let askedNs = world.breaks(.keepPermits) ? localNow + 60_000_000_000 : process.local(call.sentAt)
        handle(.claimReplied(reply, askedNs: askedNs))
        guard plan.isAsking else { return }
        claimLater(plan.answered(reply, unsent: machine.unsent, holdsBatches: !machine.isEmpty))
    }

    /// Applies the mutations to recipients that an earlier worker may have sent to.
    private func removeDoubt(_ claim: inout Claim) {
        let isRepeated = world.breaks(.repeatAtMostOnce)
        guard isRepeated || world.breaks(.forgetDoubt), let job = ProductJob.number(claim.job) else { return }
        guard !isRepeated || world.jobs[project][job].spec.delivery == .atMostOnce else { return }
        for at in claim.recipients.indices where claim.recipients[at].progress == .maybeSent {
            claim.recipients[at].progress = .unsent
            claim.recipients[at].history.maybeDuplicate = isRepeated
        }
    }

    // MARK: Intake

    func received(_ job: Int) {
        intakes += 1
        readResources()
        let takes = machine.reasonNotToTake(now: instant) == nil
        let request = Call.Request.intake(
            job: job,
            lease: takes ? leaseName : nil,
            connection: process.data.generation,
            window: world.scenario.window
        )
        world.send(request, from: self)
    }

    func takenIn(_ call: Call, lease: Int?) {
        intakes -= 1
        guard case .intake(.taken(let given, let permits)) = call.reply else { return claimLater(0) }
        guard lease == leaseName else { return }
        let job = world.jobs[project][given.name.job]
        let claim = Claim(
            job: ProductJob.id(given.name.job),
            epoch: String(given.epoch),
            watermark: given.watermark,
            taken: RecipientList(given.indexes.map { job.recipient($0) })
        )
        machine.handle(.permitsLent(permits, askedNs: process.local(call.sentAt)), now: instant, into: &actions)
        handle(.batchTaken(claim, job.spec, job.adapter))
    }
}
