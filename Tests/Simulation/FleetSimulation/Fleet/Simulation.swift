internal import FanfareCore

/// One run of a fleet, Redis and FCM in virtual time. The same seed gives the same run.
public final class Simulation {
    public let seed: UInt64
    let scenario: Scenario
    let clock: Clock
    let redis: RedisModel
    let fcm: [FCMModel]
    /// Each project's jobs in the product's types.
    let jobs: [[ProductJob]]
    var dice: Dice
    /// Decides which answers of guarded jobs are failures. A separate generator, like that of failing record calls.
    private var failingDice: Dice
    /// Decides when processes are frozen between two actions. A separate generator, too.
    var freezingDice: Dice
    var freezesLeft: Int
    private var queue = EventQueue<() -> Void>()
    /// Whether every job has ended.
    var isFinished = false
    var processes: [WorkerProcess] = []
    var pushesLeft: Int
    var poison: [[Int: Int]]
    private var names: [Int: String] = [:]
    /// Parked jobs and when the operator first saw them, by project.
    var parkedSince: [[Int: Int]]
    /// The same of jobs that a guard paused.
    var pausedSince: [[Int: Int]]
    var trace: ((String) -> Void)?

    public convenience init(
        seed: UInt64,
        isLarge: Bool = false,
        mutation: Mutation? = nil,
        trace: ((String) -> Void)? = nil
    ) {
        self.init(Scenario(seed: seed, isLarge: isLarge), seed: seed, mutation: mutation, trace: trace)
    }

    /// A run with one fan-out and three workers. FCM answers a share of the sends with 503 and `Retry-After: 10`.
    public convenience init(refusedShare: Double, seed: UInt64, mutation: Mutation? = nil) {
        let scenario = Scenario(refusedShare: refusedShare, seed: seed)
        self.init(scenario, seed: seed, mutation: mutation, trace: nil)
        let load = Referee.Load(refusedShare: refusedShare, endsAt: scenario.lastDisturbance)
        for referee in referees { referee.load = load }
    }

    private init(_ scenario: Scenario, seed: UInt64, mutation: Mutation?, trace: ((String) -> Void)?) {
        self.seed = seed
        self.scenario = scenario
        clock = Clock(mutation: mutation, isCalm: scenario.isCalm)
        redis = RedisModel(scenario: scenario, clock: clock, seed: seed)
        fcm = scenario.projects.map { FCMModel(quota: $0.quota, phase: $0.windowPhase) }
        jobs = scenario.projects.map { $0.jobs.map(ProductJob.init) }
        dice = Dice(seed: seed ^ 0xFA0F_A7E5)
        failingDice = Dice(seed: seed ^ 0xFA11_0000)
        freezingDice = Dice(seed: seed ^ 0xF0E2_0000)
        freezesLeft = scenario.freezesBetweenActions
        pushesLeft = scenario.pushes.count
        poison = scenario.projects.map(\.poison)
        parkedSince = scenario.projects.map { _ in [:] }
        pausedSince = parkedSince
        self.trace = trace
        for number in 0..<scenario.workers {
            let process = WorkerProcess(number: number, drift: dice.int(-3_000...3_000))
            process.runners = scenario.served[number].map {
                Runner(world: self, process: process, project: $0)
            }
            processes.append(process)
        }
    }

    var now: Int { clock.now }
    var referees: [Referee] { redis.referees }
    func breaks(_ mutation: Mutation) -> Bool { clock.mutation == mutation }
    func isPoison(_ project: Int, _ job: Int, _ index: Int) -> Bool { poison[project][job] == index }

    func text(_ lease: Int) -> String {
        if let known = names[lease] { return known }
        let text = String(lease)
        names[lease] = text
        return text
    }

    // MARK: Running

    /// Runs the simulation.
    ///
    /// - Returns: the first broken rule, if any, and the counts of the run.
    public func run() -> (violation: String?, tally: Tally) {
        for process in processes { schedule(at: dice.int(0...500_000)) { [self] in boot(process) } }
        for push in scenario.pushes { schedule(at: push.time) { [self] in self.push(push) } }
        for (time, what) in scenario.disturbances {
            if case .redisGone(_, let loses, _) = what, loses > 0 {
                schedule(at: max(0, time - loses)) { [redis] in redis.remember() }
            }
            schedule(at: time) { [self] in disturb(what) }
        }
        schedule(at: 250_000) { [self] in inspect() }
        while !isFinished, clock.violation == nil, let (time, body) = queue.next() {
            clock.now = time
            clock.tally.events += 1
            body()
        }
        if clock.violation == nil { for (box, referee) in zip(redis.projects, referees) { referee.judge(box.value) } }
        clock.tally.time = now
        queue = EventQueue()
        for process in processes { process.runners = [] }
        return (clock.violation, clock.tally)
    }

    func schedule(at time: Int, _ body: @escaping () -> Void) { queue.add(body, at: max(time, now)) }

    /// Schedules what a process does unless it has ended. A frozen process does it when it resumes.
    ///
    /// - Parameter incarnation: nil for the present one.
    func schedule(_ process: WorkerProcess, incarnation: Int? = nil, at time: Int, _ body: @escaping () -> Void) {
        let incarnation = incarnation ?? process.incarnation
        schedule(at: time) { [self] in
            guard process.isUp, process.incarnation == incarnation else { return }
            guard now >= process.frozenUntil else {
                return schedule(process, incarnation: incarnation, at: process.frozenUntil, body)
            }
            body()
        }
    }

    // MARK: Calls

    func send(_ request: Call.Request, from runner: Runner, flush: UInt64? = nil, isLease: Bool = false) {
        let link = isLease ? runner.process.lease : runner.process.data
        let call = Call(request, runner: runner, link: link, sentAt: now, flush: flush)
        guard runner.process.isUp, link.isReady else { return runner.failed(call) }
        schedule(at: link.arrival(call, latency: latency(link), now: now)) { [self] in reach(call) }
    }

    private func latency(_ link: Link) -> Int {
        let base = scenario.redisLatency / 2 + dice.int(0...scenario.redisLatency)
        return now < link.slowUntil ? base + dice.int(20_000...2_500_000) : base
    }

    /// Whether the process has received everything that Redis sent: nothing delayed its connection lately.
    func isPathClear(_ process: WorkerProcess) -> Bool {
        now - max(process.data.slowUntil, process.data.cutAt, process.frozenUntil, redis.stallsUntil) > 300_000
    }

    private func reach(_ call: Call) {
        guard !call.isLost, redis.isUp else { return }
        let due = max(redis.stallsUntil, call.notBefore)
        guard now >= due else { return schedule(at: due) { [self] in reach(call) } }
        redis.apply(call)
        call.isApplied = true
        trace?("\(now) \(call.runner.leaseName) p\(call.runner.project) \(call.request) -> \(call.reply)")
        guard call.generation == call.link.generation, call.incarnation == call.runner.process.incarnation else {
            return
        }
        let time = call.link.answer(latency: latency(call.link), now: now)
        schedule(call.runner.process, incarnation: call.incarnation, at: time) { [self] in answer(call) }
    }

    private func answer(_ call: Call) {
        let runner = call.runner
        guard call.generation == call.link.generation else { return }
        call.link.answered(call)
        switch call.request {
        case .claim(let request): runner.answered(call, lease: request.lease)
        case .record: runner.confirmed(call)
        case .renew(let lease): runner.renewed(call, lease: lease)
        case .register: runner.registered(call)
        case .intake(_, let lease, _, _): runner.takenIn(call, lease: lease)
        case .declareDead: runner.claimLater(0)
        case .reconcile: if case .reconciled(let taken) = call.reply { runner.reconciled(taken) }
        case .spec(let job): if case .spec(let isOpen) = call.reply { runner.loaded(job, isOpen: isOpen) }
        case .count(let sign): if case .count(let count) = call.reply { runner.counted(sign, count) }
        case .deregister, .release: break
        }
    }

    // MARK: Connections

    func cut(_ process: WorkerProcess, _ link: Link, redisIsGone: Bool = false) {
        let calls = link.cut(&dice, now: now)
        for call in calls where !call.isApplied {
            // The kernel may retransmit the call, so it may arrive after the next connection opened.
            call.notBefore = now + dice.int(0...3_000_000)
            if redisIsGone { call.isLost = true }
        }
        guard process.isUp else { return }
        if !link.isLease { for runner in process.runners { runner.handle(session: .disconnected) } }
        for call in calls { call.runner.failed(call) }
        reconnect(process, link, within: dice.skewed(50_000...2_000_000))
    }

    private func reconnect(_ process: WorkerProcess, _ link: Link, within delay: Int) {
        let generation = link.generation
        schedule(process, at: now + delay) { [self] in
            if generation == link.generation { connected(process, link) }
        }
    }

    private func connected(_ process: WorkerProcess, _ link: Link) {
        guard redis.isUp, now >= max(redis.stallsUntil, link.isDownUntil) else {
            return reconnect(process, link, within: dice.int(50_000...500_000))
        }
        link.isReady = true
        guard !link.isLease else { return }
        for runner in process.runners { runner.connected() }
    }

    private func beat(_ process: WorkerProcess) {
        for link in [process.data, process.lease] {
            if let oldest = link.oldest, now - oldest > 5_000_000 { cut(process, link) }
        }
        for runner in process.runners where runner.lease.isHeld {
            send(.renew(runner.leaseName), from: runner, isLease: true)
            runner.handle(session: .tick)
        }
        schedule(process, at: now + Int(scenario.renewMs) * 1_000) { [self] in beat(process) }
    }

    // MARK: Processes

    private func boot(_ process: WorkerProcess) {
        guard !process.isUp else { return }
        process.isUp = true
        process.isDraining = false
        process.frozenUntil = 0
        process.runners = process.runners.map { Runner(world: self, process: process, project: $0.project) }
        process.quarantine.reset()
        reconnect(process, process.data, within: dice.int(1_000...20_000))
        reconnect(process, process.lease, within: dice.int(1_000...20_000))
        schedule(process, at: now + 100_000) { [self] in beat(process) }
        for runner in process.runners { runner.watchWhileQuiet() }
    }

    /// Ends a process like `kill -9`. Its calls and sends in flight continue.
    func crash(_ process: WorkerProcess, downFor length: Int) {
        guard process.isUp else { return }
        clock.tally.crashes += 1
        trace?("\(now) worker \(process.number) dies")
        process.isUp = false
        process.incarnation += 1
        process.quarantine.reset()
        cut(process, process.data)
        cut(process, process.lease)
        schedule(at: now + length) { [self] in boot(process) }
    }

    func checkDrain(_ process: WorkerProcess, _ began: Int) {
        let isDrained = process.runners.allSatisfy(\.isDrained)
        guard isDrained || now - began > 10_000_000 else {
            return schedule(process, at: now + 50_000) { [self] in checkDrain(process, began) }
        }
        if isDrained {
            for runner in process.runners where runner.lease.isHeld {
                send(.deregister(runner.leaseName), from: runner)
            }
        }
        let incarnation = process.incarnation
        schedule(at: now + 200_000) { [self] in
            if process.incarnation == incarnation { crash(process, downFor: dice.int(50_000...2_000_000)) }
        }
    }

    // MARK: Jobs

    private func push(_ push: Scenario.Push) {
        guard redis.isUp, now >= redis.stallsUntil else {
            return schedule(at: now + 200_000) { [self] in self.push(push) }
        }
        pushesLeft -= 1
        redis.projects[push.project].value.entries.append((push.job, 0))
        deliver(push.project)
    }

    /// Delivers entries that no worker has read, and entries whose reader had them for a whole lease.
    func deliver(_ project: Int) {
        let state = redis.projects[project].value
        for (at, entry) in state.entries.enumerated()
        where entry.readAtMs == 0 || abs(redis.nowMs - entry.readAtMs) >= scenario.leaseMs {
            let readers = processes.filter {
                $0.isUp && $0.data.isReady && !$0.isDraining && $0.runner(of: project) != nil
            }
            guard !readers.isEmpty else { return }
            let reader = dice.pick(readers)
            guard let runner = reader.runner(of: project) else { continue }
            redis.projects[project].value.entries[at].readAtMs = redis.nowMs
            schedule(reader, at: now + latency(reader.data)) { runner.received(entry.job) }
        }
    }

    // MARK: FCM

    func transmit(_ flight: Flight) {
        let isQuiet = now > scenario.lastDisturbance
        if !isQuiet, dice.chance(scenario.unsentChance) {
            flight.answer = .unsent
            referees[flight.runner.project].wasRefused(flight.index, of: flight.job)
            return complete(flight, at: now + dice.int(100...20_000))
        }
        schedule(at: now + oneWay) { [self] in arrive(flight) }
    }

    private func complete(_ flight: Flight, at time: Int) {
        schedule(flight.runner.process, incarnation: flight.incarnation, at: time) { flight.runner.completed(flight) }
    }

    private var oneWay: Int { scenario.fcmLatency * 2 / 5 + dice.int(0...scenario.fcmLatency / 5) }

    private func arrive(_ flight: Flight) {
        let project = flight.runner.project
        referees[project].arrived()
        if fcm[project].admit(now) {
            flight.answer = fcm[project].answer(scenario, quiet: now > scenario.lastDisturbance, &dice, now: now)
            if let share = scenario.projects[project].failing[flight.job], case .accepted = flight.answer,
                failingDice.chance(share)
            {
                flight.answer = .failed
            }
        } else {
            referees[project].violate("FCM's quota window is full")
            flight.answer = .slowDown(retryAfterMs: 1_000)
        }
        switch flight.answer {
        case .accepted: complete(flight, at: now + oneWay)
        case .lost: complete(flight, at: flight.startedAt + scenario.requestTimeout)
        case .failed, .busy, .slowDown, .unsent:
            referees[project].wasRefused(flight.index, of: flight.job)
            complete(flight, at: now + oneWay)
        }
    }
}
