internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// Driver of one project in one worker: passes the events of Redis, FCM and the clock to the product's ``SendMachine`` and
/// ``SessionMachine``, and performs their actions. Each start of the process has runners of its own.
final class Runner {
    // Reference cycles, broken by `Simulation.run()` at its end.
    let world: Simulation
    let process: WorkerProcess
    let project: Int

    private(set) var lease: Lease
    private var session: SessionMachine
    private var watch: FailureDetector
    /// The server of the previous connection; nil before the first one.
    private var server: Int?

    // Decisions.
    var machine: SendMachine
    var plan = ClaimPlan(pollMs: 50, idlePollMs: 250, quietPollMs: 300_000)
    private var quietPlan: QuietPlan
    var actions: [SendAction] = []
    var isPerforming = false

    // Requests to Redis.
    private var claimToken = 0
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
        let scenario = world.scenario
        lease = Lease(worker: String(process.number * 10_000 + process.incarnation))
        session = SessionMachine(leaseMs: scenario.leaseMs, pausesAfterFailover: false)
        quietPlan = QuietPlan(leaseMs: scenario.leaseMs, everyMs: Self.quietEveryMs)
        watch = FailureDetector(leaseMs: scenario.leaseMs - scenario.renewMs / 2)
        var settings = SendMachine.Settings()
        settings.maximumInFlight = scenario.maximumInFlight
        settings.window = scenario.window
        settings.flushCount = 16
        settings.quotaPerMinute = scenario.projects[project].quota
        settings.policy = RetryPolicy(baseMs: scenario.retryBaseMs, capMs: 8_000, shortCapMs: 2_000)
        let place = UInt64((process.number * 100 + process.incarnation) * 100 + project)
        machine = SendMachine(settings, seed: world.seed &+ place &* 0x9E37_79B9, messageNonce: place)
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

    // MARK: The session

    func handle(session event: SessionMachine.Event) {
        let isQuiet = !plan.isAsking && intakes == 0
        let moment = SessionMachine.Moment(now: localNow, isQuiet: isQuiet, leaseHolds: leaseHolds)
        var actions: [SessionAction] = []
        session.handle(event, at: moment, into: &actions)
        machine.gate.isReady = session.isReady
        for action in actions { perform(action) }
    }

    /// Calls of earlier connections have no answer here.
    private func answered(_ answer: SessionMachine.Answer) {
        handle(session: .answered(answer, connection: session.connection))
    }

    private func perform(_ action: SessionAction) {
        switch action {
        // No streams have groups here, no project is blocked, and none is closed.
        case .createGroup, .probe, .stop: break
        case .readNewsAgain: plan.readNewsAgain()
        case .cut:
            flushes.cut()
            handle(.redisLost)
        case .open(let isSameServer):
            for flush in flushes.open(isSameServer: isSameServer) { handle(.replay(flush)) }
        case .compare(let isSameServer): compare(isSameServer)
        case .writeAgain: for id in flushes.waiting { write(id) }
        case .forget(let lost): handle(.forgotten(lost))
        case .register: world.send(.register(leaseName), from: self)
        case .hold(let newsCursor, let since):
            lease.hold(until: since + leaseSpan)
            plan.registered(newsCursor: newsCursor)
        case .loseLease:
            handle(.leaseLost)
            lease.lose()
        case .claim: claimLater(0)
        case .drain: handle(.drain)
        case .arm(let timer, let time):
            let connection = session.connection
            world.schedule(process, at: world.now + delay(until: time)) { [self] in
                handle(session: .timer(timer, connection: connection))
            }
        }
    }

    func delay(until time: UInt64) -> Int {
        let now = localNow
        return time > now ? Int((time - now) / 1_000) + 1 : 0
    }

    /// Handles a new connection to Redis, the first or a later one.
    func connected() {
        let isSameServer = server == nil || server == world.redis.server
        server = world.redis.server
        handle(session: .connected(isSameServer: isSameServer))
        for job in loading.sorted() { world.send(.spec(job: job), from: self) }
        if world.breaks(.registerAgain), lease.isHeld, !leaseHolds { perform(.register) }
    }

    /// Handles a call that gets no answer.
    func failed(_ call: Call) {
        switch call.request {
        case .claim: _ = plan.failed()
        case .intake: intakes -= 1
        case .count(let sign): handle(quiet: .counted(sign, [""], count: 0))
        case .register, .record, .renew, .declareDead, .deregister, .reconcile, .release, .spec: break
        }
    }

    private func compare(_ isSameServer: Bool) {
        let connection = process.data.generation
        world.send(.reconcile(leaseName, connection, isSameServer: isSameServer, machine.known), from: self)
    }

    func reconciled(_ taken: [BatchName]?) {
        answered(taken.map { .compared(lost: $0.map(\.text)) } ?? .comparisonFailed)
    }

    // MARK: The lease

    private var leaseSpan: UInt64 {
        Lease.spanNs(leaseMs: world.scenario.leaseMs, renewMs: world.scenario.renewMs)
    }

    func registered(_ call: Call) {
        guard case .registered(let news) = call.reply else { return }
        let askedNs = process.local(call.sentAt)
        if world.breaks(.registerAgain), lease.isHeld { return lease.hold(until: askedNs + leaseSpan) }
        answered(.registered(newsCursor: news.text, askedNs: askedNs))
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

    private func fenced(_ name: Int) { if name == leaseName { handle(session: .declaredDead) } }

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
        let token = claimToken
        world.schedule(process, at: due) { [self] in if token == claimToken { claim() } }
    }

    private func claim() {
        claimDue = .max
        readResources()
        guard var call = machine.claimCall(worker: world.text(leaseName), plan: plan, now: instant) else {
            return claimLater(50_000)
        }
        call.connection = process.data.generation
        plan.sent(call)
        world.send(.claim(call), from: self)
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
        guard case .reply(var reply)? = ClaimReply.parse(answer.value(world.jobs[project])) else {
            return world.referees[project].violate("the product cannot parse \(answer)")
        }
        clockOffsetMs = reply.nowMs - Scenario.epochMs - Int64(world.now / 1_000)
        if world.breaks(.ignoreNews) { reply.news = [] }
        for at in reply.claims.indices { removeDoubt(&reply.claims[at]) }
        // The lifetime of permits counts from before the call was sent, not from its answer.
        let askedNs = world.breaks(.keepPermits) ? localNow + 60_000_000_000 : process.local(call.sentAt)
        handle(.claimReplied(reply, askedNs: askedNs))
        guard plan.isAsking else { return }
        claimLater(plan.answered(reply, unsent: machine.unsent, holdsBatches: !machine.isEmpty || intakes > 0))
    }

    // MARK: Silence

    private static let quietEveryMs: Int64 = 200

    func watchWhileQuiet() {
        handle(quiet: .due(quiet: plan.isQuiet ? [""] : []))
        world.schedule(process, at: world.now + Int(Self.quietEveryMs) * 1_000) { [self] in watchWhileQuiet() }
    }

    func counted(_ sign: QuietPlan.Sign, _ count: Int) {
        handle(quiet: .counted(sign, [""], count: Int64(count)))
    }

    private func handle(quiet event: QuietPlan.Event) {
        var actions: [QuietPlan.Action] = []
        quietPlan.handle(event, into: &actions)
        for action in actions {
            switch action {
            case .count(let sign, _): world.send(.count(sign), from: self)
            case .claim: claimLater(0)
            }
        }
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
        if plan.isQuiet { claim() }
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
        let taken = SendJob(
            id: claim.job,
            spec: job.spec,
            settings: machine.settings.protocols,
            adapter: job.adapter
        )
        handle(.batchTaken(claim, taken))
    }
}
