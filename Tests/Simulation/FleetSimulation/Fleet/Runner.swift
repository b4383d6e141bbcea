internal import FanfareCore
internal import FanfareModel

/// One project in one worker: asks for work, sends it, and writes what became of it, with the decisions that the real
/// worker uses.
final class Runner {
    // Cycles, undone by `Simulation.run()` at its end.
    let world: Simulation
    let process: WorkerProcess
    let project: Int
    let number: Int

    // Who we are in Redis.
    private(set) var leaseGeneration = 0
    private(set) var isRegistered = false
    var isRegistering = false
    private var leaseUntil: UInt64 = 0
    var watch: FailureDetector

    // Asking.
    var isAsking = false
    var askToken = 0
    var askDue = Int.max
    var cursor = NewsID()
    var intakes = 0
    /// Redis' clock less true time, as last heard.
    var clockOffsetMs: Int64 = 0
    var isProjectPaused = false
    /// Redis' time of the next retry or job that waits for its time; 0 when none was heard of.
    var nextDueMs: Int64 = 0

    // Sending.
    var purse = LeasedPermits()
    var limit: ConcurrencyLimit
    var accept: AdaptiveThrottle
    var budget = RetryBudget()
    var heldUntil = 0
    var answers = AnswerTally()
    var inFlight = 0
    var held: [HeldBatch] = []
    var wakeDue = Int.max

    // Writing.
    var uncommitted = 0
    var dirty: [HeldBatch] = []
    var isFlushDue = false
    var flushes: [Flush] = []

    init(world: Simulation, process: WorkerProcess, project: Int, number: Int) {
        self.world = world
        self.process = process
        self.project = project
        self.number = number
        let scenario = world.scenario
        watch = FailureDetector(leaseMs: scenario.leaseMs - scenario.renewMs / 2)
        limit = ConcurrencyLimit(maximum: scenario.maxInFlight)
        accept = AdaptiveThrottle(maximumInFlight: scenario.maxInFlight)
    }

    /// A process that starts knows nothing of its predecessor.
    func reset() {
        let scenario = world.scenario
        leaseGeneration = 0
        isRegistered = false
        isRegistering = false
        leaseUntil = 0
        watch = FailureDetector(leaseMs: scenario.leaseMs - scenario.renewMs / 2)
        isAsking = false
        askToken += 1
        askDue = .max
        cursor = NewsID()
        intakes = 0
        clockOffsetMs = 0
        isProjectPaused = false
        nextDueMs = 0
        purse = LeasedPermits()
        limit = ConcurrencyLimit(maximum: scenario.maxInFlight)
        accept = AdaptiveThrottle(maximumInFlight: scenario.maxInFlight)
        budget = RetryBudget()
        heldUntil = 0
        answers = AnswerTally()
        inFlight = 0
        held = []
        wakeDue = .max
        uncommitted = 0
        dirty = []
        isFlushDue = false
        flushes = []
    }

    var leaseName: Int { (process.number * 10_000 + process.incarnation) * 100 + leaseGeneration }
    var localNow: UInt64 { process.local(world.now) }
    var nowMs: Int64 { Scenario.epochMs + Int64(world.now / 1_000) + clockOffsetMs }
    var leaseHolds: Bool { isRegistered && (localNow < leaseUntil || world.breaks(.sendPastLease)) }
    var isIdle: Bool { intakes == 0 && held.isEmpty && flushes.isEmpty }

    // MARK: The lease

    private var leaseSpan: UInt64 {
        UInt64(max(world.scenario.leaseMs - world.scenario.renewMs, world.scenario.leaseMs / 2)) * 1_000_000
    }

    /// Redis is there, for the first time or again.
    func connected() {
        for flush in flushes { world.send(.record(flush.request), from: self, flush: flush) }
        if isRegistered { reconcile() }
        // A name that was held is only renewed: registered again it would come back from the dead, and with it whatever
        // it held, which belongs to others by now.
        if leaseHolds || (isRegistered && !world.breaks(.registerAgain)) { askLater(0) } else { register() }
    }

    func disconnected(_ call: Call) {
        switch call.request {
        case .claim: isAsking = false
        case .register: isRegistering = false
        case .intake: intakes -= 1
        case .release(_, let name, _): held.first { $0.name == name && $0.isReleasing }?.isReleasing = false
        case .record, .renew, .bury, .leave, .reconcile: break
        }
    }

    func register() {
        guard !isRegistering, !process.isDraining, process.data.isReady else { return }
        isRegistering = true
        world.send(.register(leaseName), from: self)
    }

    func registered(_ call: Call) {
        isRegistering = false
        isRegistered = true
        leaseUntil = process.local(call.sentAt) + leaseSpan
        askLater(0)
    }

    func renewed(_ call: Call, lease: Int) {
        guard lease == leaseName, isRegistered else { return }
        guard case .renewed(let counters) = call.reply else { return fenced(lease) }
        leaseUntil = max(leaseUntil, process.local(call.sentAt) + leaseSpan)
        let named = counters.map { (worker: world.text($0.lease), counter: String($0.counter)) }
        for dead in watch.observe(named, own: world.text(leaseName), now: localNow) {
            guard process.data.isReady, let lease = Int(dead.name), let counter = Int(dead.counter) else { continue }
            world.send(.bury(lease, counter: counter), from: self)
        }
    }

    /// Declared dead: nothing is ours any more, what is known goes in as late facts, and we come back under a new name.
    func fenced(_ lease: Int) {
        guard lease == leaseName else { return }
        flushAll()
        for batch in held { batch.isFenced = true }
        leaseGeneration += 1
        isRegistered = false
        leaseUntil = 0
        sweep()
        register()
    }

    /// Redis may hold something in our name that we do not know of: an answer that was lost.
    func reconcile() {
        guard process.data.isReady else { return }
        var known: [BatchName: UInt64] = [:]
        for batch in held where !batch.isFenced { known[batch.name] = batch.epoch }
        world.send(.reconcile(leaseName, connection: process.data.generation, known: known), from: self)
    }

    // MARK: Asking

    private var unsent: Int { held.reduce(0) { $0 + ($1.isFenced ? 0 : $1.unsentCount) } }

    func askLater(_ delay: Int) {
        let due = world.now + delay
        guard due < askDue else { return }
        askDue = due
        askToken += 1
        world.schedule(.ask(self, token: askToken, incarnation: process.incarnation), at: due)
    }

    func ask() {
        askDue = .max
        guard !isAsking, !process.isDraining, process.data.isReady else { return askLater(50_000) }
        guard leaseHolds else {
            if !isRegistered { register() }
            return askLater(50_000)
        }
        var singles = 0
        var fanouts = 0
        for batch in held where !batch.isFenced && !batch.isStopped && batch.ending == .none {
            let count = batch.unsentCount
            if batch.isFanout { fanouts += count } else { singles += count }
        }
        let most = world.scenario.maxInFlight
        let room = max(0, 2 * most - singles - fanouts)
        let wanted = min(most, singles + fanouts)
        let available = purse.available(now: localNow)
        let returned = purse.takeBack(keep: wanted, now: localNow)
        let kept = available - returned
        let single = max(0, min(most, singles) - kept)
        let fanout = max(0, min(most, fanouts) - max(0, kept - singles))
        isAsking = true
        let request = ClaimRequest(
            lease: leaseName,
            connection: process.data.generation,
            most: room > 0 ? max(0, 64 - held.count) : 0,
            wanted: room,
            wantedSingle: room,
            window: world.scenario.window,
            // Looked at only when a retry is due: it is a look at ten seconds.
            retryRoom: nextDueMs > 0 && nextDueMs <= nowMs ? budget.room(now: localNow) : 0,
            returned: returned,
            single: single,
            fanout: fanout,
            cursor: cursor,
            report: answers.report(now: localNow)
        )
        world.send(.claim(request), from: self)
    }

    func answered(_ call: Call, lease: Int) {
        isAsking = false
        guard case .claim(let reply) = call.reply else { return fenced(lease) }
        answers.confirm()
        if reply.holdMs > 0 { hold(milliseconds: reply.holdMs) }
        clockOffsetMs = reply.nowMs - Scenario.epochMs - Int64(world.now / 1_000)
        isProjectPaused = reply.isPaused
        nextDueMs = reply.nextDueMs
        cursor = reply.cursor
        if !world.breaks(.ignoreNews) { hear(reply.news) }
        // Counted from before the call was sent: permits are for now, not for whenever they arrive.
        purse.lent(
            reply.permits,
            at: world.breaks(.keepPermits) ? localNow + 5_000_000_000 : process.local(call.sentAt)
        )
        // What was given under a name that is fenced by now belongs to others.
        if lease == leaseName { for given in reply.claims { activate(given) } }
        pump()
        if !reply.claims.isEmpty { return askLater(0) }
        let due = reply.nextDueMs > 0 ? Int(max(1, reply.nextDueMs - reply.nowMs)) * 1_000 : .max
        askLater(min(reply.unfinished == 0 ? 100_000 : 50_000, due))
    }

    func hold(milliseconds: Int64) { heldUntil = max(heldUntil, world.now + Int(milliseconds) * 1_000) }

    private func hear(_ news: [News]) {
        for item in news {
            for batch in held where batch.name.job == item.job && !batch.isFenced {
                switch item.kind {
                case .end(let letter):
                    batch.ending = letter
                    settleEnding(batch)
                case .stop: stop(batch)
                }
            }
        }
    }

    func activate(_ given: Given) {
        let batch = HeldBatch(given, kind: world.kind(project, given.name.job))
        held.append(batch)
        if batch.ending != .none {
            settleEnding(batch)
        } else {
            settleDoubtful(batch)
        }
        if batch.open == 0 { closeIfDone(batch) }
        // It came after the drain began, or after the project stopped: nothing of it was sent.
        if process.isDraining { stop(batch) }
    }

    func received(_ job: Int) {
        intakes += 1
        let takes = leaseHolds && world.now >= heldUntil && unsent < 2 * world.scenario.maxInFlight
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
        purse.lent(permits, at: process.local(call.sentAt))
        activate(given)
        pump()
    }

    func sweep() { held.removeAll { $0.isOver } }
}
