internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// The driver of one project in one worker: it feeds the product's ``SendMachine`` what Redis, FCM and the clock say, and
/// carries out what the machine decides. Its own are the lease and the connection.
final class Runner {
    // Cycles, undone by `Simulation.run()` at its end.
    let world: Simulation
    let process: WorkerProcess
    let project: Int

    // Who we are in Redis.
    private(set) var leaseGeneration = 0
    private(set) var isRegistered = false
    private var isRegistering = false
    private var leaseUntil: UInt64 = 0
    private var watch: FailureDetector
    /// The server of the connection before; nil before the first.
    private var server: Int?
    private var reconciledAt = 0

    // What decides.
    var machine: SendMachine
    var plan = ClaimPlan(pollMs: 50, idlePollMs: 100)
    var actions: [SendAction] = []
    var isPerforming = false

    // What was asked of Redis.
    private(set) var askToken = 0
    private var askDue = Int.max
    private(set) var intakes = 0
    var loading: Set<Int> = []
    var flushes: [PendingFlush] = []
    var replayBuffer = ReplayBuffer()
    /// Redis' clock less true time, as last heard.
    private var clockOffsetMs: Int64 = 0

    init(world: Simulation, process: WorkerProcess, project: Int) {
        self.world = world
        self.process = process
        self.project = project
        watch = Self.watch(world.scenario)
        machine = Self.machine(world, process, project)
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

    /// A process that starts knows nothing of its predecessor.
    func reset() {
        leaseGeneration = 0
        isRegistered = false
        isRegistering = false
        leaseUntil = 0
        watch = Self.watch(world.scenario)
        server = nil
        machine = Self.machine(world, process, project)
        plan = ClaimPlan(pollMs: 50, idlePollMs: 100)
        actions = []
        askToken += 1
        askDue = .max
        intakes = 0
        loading = []
        flushes = []
        replayBuffer = ReplayBuffer()
        clockOffsetMs = 0
    }

    var leaseName: Int { (process.number * 10_000 + process.incarnation) * 100 + leaseGeneration }
    var localNow: UInt64 { process.local(world.now) }
    /// The model's Redis has one clock: the project's time is its time of day.
    private var nowMs: Int64 { Scenario.epochMs + Int64(world.now / 1_000) + clockOffsetMs }
    var instant: Instant { Instant(monotonicNs: localNow, projectMs: nowMs) }
    var leaseHolds: Bool { isRegistered && (localNow < leaseUntil || world.breaks(.sendPastLease)) }
    /// Nothing is under way to FCM or to Redis.
    var isQuiet: Bool { machine.inFlight == 0 && flushes.isEmpty }
    var isDrained: Bool { !plan.isAsking && intakes == 0 && machine.isEmpty && flushes.isEmpty }

    // MARK: The connection

    /// Redis is there, for the first time or again.
    func connected() {
        let isSameServer = server == nil || server == world.redis.server
        server = world.redis.server
        if !isSameServer { plan.readNewsAgain() }
        writeAgain(isSameServer: isSameServer)
        for job in loading.sorted() { world.send(.spec(job: job), from: self) }
        // A name that was held is only renewed: registered again it would come back from the dead, and with it whatever
        // it held, which belongs to others by now.
        if leaseHolds || (isRegistered && !world.breaks(.registerAgain)) { askLater(0) } else { register() }
    }

    func disconnected() { machine.gate.isReady = false }

    /// A call whose answer does not come.
    func failed(_ call: Call) {
        switch call.request {
        case .claim: _ = plan.failed()
        case .register: isRegistering = false
        case .intake: intakes -= 1
        case .record, .renew, .bury, .leave, .reconcile, .release, .spec: break
        }
    }

    /// Redis may hold something in our name that we do not know of, because an answer was lost, and may have forgotten
    /// what we hold.
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

    /// What only Redis believes to be ours, because a call failed, is given back.
    func reconcileNowAndThen() {
        guard machine.gate.isReady, leaseHolds, !process.isDraining, !plan.isAsking, intakes == 0,
            world.now > reconciledAt + Int(world.scenario.leaseMs) * 1_000
        else { return }
        reconcile(isSameServer: true)
    }

    func reconciled(_ taken: [BatchName]?) {
        guard let taken else { return }
        machine.gate.isReady = true
        handle(.forgotten(taken.map(\.text)))
        askLater(0)
    }

    // MARK: The lease

    private var leaseSpan: UInt64 {
        UInt64(max(world.scenario.leaseMs - world.scenario.renewMs, world.scenario.leaseMs / 2)) * 1_000_000
    }

    private func register() {
        guard !isRegistering, !process.isDraining, process.data.isReady else { return }
        isRegistering = true
        world.send(.register(leaseName), from: self)
    }

    func registered(_ call: Call) {
        isRegistering = false
        isRegistered = true
        leaseUntil = process.local(call.sentAt) + leaseSpan
        if case .registered(let news) = call.reply { plan.registered(newsCursor: news.text) }
        askLater(0)
    }

    func renewed(_ call: Call, lease: Int) {
        guard lease == leaseName, isRegistered else { return }
        guard case .renewed(let counters) = call.reply else { return fenced(lease) }
        leaseUntil = max(leaseUntil, process.local(call.sentAt) + leaseSpan)
        let named = counters.map { (worker: world.text($0.lease), counter: String($0.counter)) }
        for dead in watch.observe(named, own: world.text(leaseName), now: localNow) {
            guard process.data.isReady, let lease = Int(dead.worker), let counter = Int(dead.counter) else { continue }
            world.send(.bury(lease, counter: counter), from: self)
        }
    }

    /// Declared dead: nothing is ours any more, and we come back under a new name.
    private func fenced(_ lease: Int) {
        guard lease == leaseName else { return }
        handle(.leaseLost)
        leaseGeneration += 1
        isRegistered = false
        leaseUntil = 0
        register()
    }

    // MARK: Asking

    func askLater(_ next: ClaimPlan.Next) {
        switch next {
        case .now: askLater(0)
        case .after(let milliseconds): askLater(Int(max(0, milliseconds)) * 1_000)
        }
    }

    func askLater(_ delay: Int) {
        let due = world.now + delay
        guard due < askDue else { return }
        askDue = due
        askToken += 1
        world.schedule(.ask(self, token: askToken, incarnation: process.incarnation), at: due)
    }

    func ask() {
        askDue = .max
        if !isRegistered { register() }
        readResources()
        guard var call = machine.claimCall(worker: world.text(leaseName), plan: plan, now: instant) else {
            return askLater(50_000)
        }
        call.connection = process.data.generation
        plan.sent(call)
        world.send(.claim(ClaimRequest(call, lease: leaseName)), from: self)
    }

    func answered(_ call: Call, lease: Int) {
        guard case .claim(let answer) = call.reply else {
            askLater(plan.failed())
            return fenced(lease)
        }
        machine.answers.confirm()
        // What was given under a name that is fenced by now belongs to others.
        guard lease == leaseName else {
            _ = plan.failed()
            return askLater(0)
        }
        guard case .reply(var reply)? = StreamWire.ClaimReply.parse(answer.value(world.jobs[project])) else {
            return world.referees[project].violate("the product does not read \(answer)")
        }
        clockOffsetMs = reply.nowMs - Scenario.epochMs - Int64(world.now / 1_000)
        if world.breaks(.ignoreNews) { reply.news = [] }
        for at in reply.claims.indices { leaveOutDoubt(&reply.claims[at]) }
        // Counted from before the call was sent: permits are for now, not for whenever they arrive.
        let askedNs = world.breaks(.keepPermits) ? localNow + 60_000_000_000 : process.local(call.sentAt)
        handle(.claimReplied(reply, askedNs: askedNs))
        guard plan.isAsking else { return }
        askLater(plan.answered(reply, unsent: machine.unsent, holdsBatches: !machine.isEmpty))
    }

    /// What the mutations make of recipients that an earlier worker may have sent to.
    private func leaveOutDoubt(_ claim: inout Claim) {
        let isRepeated = world.breaks(.repeatAtMostOnce)
        guard isRepeated || world.breaks(.forgetDoubt), let job = ProductJob.number(claim.job) else { return }
        guard !isRepeated || world.jobs[project][job].spec.delivery == .atMostOnce else { return }
        for at in claim.recipients.indices where claim.recipients[at].fate == .maybeSent {
            claim.recipients[at].fate = .unsent
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

    func took(_ call: Call, lease: Int?) {
        intakes -= 1
        guard case .intake(.taken(let given, let permits)) = call.reply else { return askLater(0) }
        guard lease == leaseName else { return }
        let job = world.jobs[project][given.name.job]
        let claim = Claim(
            job: ProductJob.id(given.name.job),
            epoch: String(given.epoch),
            watermark: given.upto,
            taken: RecipientList(given.indexes.map { job.recipient($0) })
        )
        machine.handle(.permitsLent(permits, askedNs: process.local(call.sentAt)), now: instant, into: &actions)
        handle(.handedOver(claim, job.spec, job.adapter))
    }
}
