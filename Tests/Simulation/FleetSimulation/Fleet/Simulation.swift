internal import FanfareCore

/// One run of a fleet, Redis and FCM in virtual time. The same seed gives the same run.
public final class Simulation {
    enum Event {
        case push(Scenario.Push)
        case entry(Runner, job: Int, incarnation: Int)
        case claim(Runner, token: Int, incarnation: Int)
        case timer(Runner, SendTimer, incarnation: Int)
        case session(Runner, SessionMachine.Timer, connection: Int, incarnation: Int)
        case recordAgain(Runner, flush: UInt64, incarnation: Int)
        /// A process that was frozen between two actions performs the rest.
        case thaw(Runner, action: Int, incarnation: Int)
        case reach(Call)
        case answer(Call)
        case arrive(Flight)
        case completed(Flight)
        case beat(WorkerProcess, incarnation: Int)
        case connected(WorkerProcess, isLease: Bool, incarnation: Int, generation: Int)
        case boot(WorkerProcess)
        case drained(WorkerProcess, incarnation: Int, began: Int)
        case exit(WorkerProcess, incarnation: Int)
        case disturb(Scenario.Disturbance)
        case remember
        case redisBack(losesState: Bool, clockMs: Int64)
        case resume(project: Int, job: Int?)
        case inspect
    }

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
    private var queue = EventQueue<Event>()
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
    func schedule(_ event: Event, at time: Int) { queue.add(event, at: max(time, now)) }
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
        for process in processes { schedule(.boot(process), at: dice.int(0...500_000)) }
        for push in scenario.pushes { schedule(.push(push), at: push.time) }
        for (time, what) in scenario.disturbances {
            if case .redisGone(_, let loses, _) = what, loses > 0 { schedule(.remember, at: max(0, time - loses)) }
            schedule(.disturb(what), at: time)
        }
        schedule(.inspect, at: 250_000)
        var isDone = false
        while !isDone, clock.violation == nil, let (time, event) = queue.next() {
            clock.now = time
            clock.tally.events += 1
            isDone = handle(event)
        }
        if clock.violation == nil { for (box, referee) in zip(redis.projects, referees) { referee.judge(box.value) } }
        clock.tally.time = now
        queue = EventQueue()
        for process in processes { process.runners = [] }
        return (clock.violation, clock.tally)
    }

    /// Handles an event; returns true when everything is finished.
    private func handle(_ event: Event) -> Bool {
        switch event {
        case .push(let push): self.push(push)
        case .entry(let runner, let job, let incarnation):
            if isAwake(runner.process, incarnation, event) { runner.received(job) }
        case .claim(let runner, let token, let incarnation):
            if token == runner.claimToken, isAwake(runner.process, incarnation, event) { runner.claim() }
        case .timer(let runner, let timer, let incarnation):
            if isAwake(runner.process, incarnation, event) { runner.handle(.timer(timer)) }
        case .session(let runner, let timer, let connection, let incarnation):
            if isAwake(runner.process, incarnation, event) {
                runner.handle(session: .timer(timer, connection: connection))
            }
        case .recordAgain(let runner, let flush, let incarnation):
            if isAwake(runner.process, incarnation, event) { runner.write(flush) }
        case .thaw(let runner, let action, let incarnation):
            if isAwake(runner.process, incarnation, event) { runner.performRest(from: action) }
        case .reach(let call): reach(call)
        case .answer(let call): answer(call)
        case .arrive(let flight): arrive(flight)
        case .completed(let flight):
            if isAwake(flight.runner.process, flight.incarnation, event) { flight.runner.completed(flight) }
        case .beat(let process, let incarnation):
            if isAwake(process, incarnation, event) { beat(process) }
        case .connected(let process, let isLease, let incarnation, let generation):
            let link = isLease ? process.lease : process.data
            if generation == link.generation, isAwake(process, incarnation, event) { connected(process, link) }
        case .boot(let process): boot(process)
        case .drained(let process, let incarnation, let began):
            if isAwake(process, incarnation, event) { checkDrain(process, began) }
        case .exit(let process, let incarnation):
            if process.incarnation == incarnation, process.isUp {
                crash(process, downFor: dice.int(50_000...2_000_000))
            }
        case .disturb(let what): disturb(what)
        case .remember: redis.remember()
        case .redisBack(let losesState, let clockMs): redisBack(losesState, clockMs)
        case .resume(let project, let job): resume(project, job)
        case .inspect: return inspect()
        }
        return false
    }

    /// Whether a process can handle an event now. A frozen process handles it when it resumes.
    private func isAwake(_ process: WorkerProcess, _ incarnation: Int, _ event: Event) -> Bool {
        guard process.isUp, process.incarnation == incarnation else { return false }
        guard now >= process.frozenUntil else {
            schedule(event, at: process.frozenUntil)
            return false
        }
        return true
    }

    // MARK: Calls

    func send(_ request: Call.Request, from runner: Runner, flush: UInt64? = nil, isLease: Bool = false) {
        let link = isLease ? runner.process.lease : runner.process.data
        let call = Call(request, runner: runner, link: link, sentAt: now, flush: flush)
        guard runner.process.isUp, link.isReady else { return runner.failed(call) }
        schedule(.reach(call), at: link.arrival(call, latency: latency(link), now: now))
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
        guard now >= due else { return schedule(.reach(call), at: due) }
        redis.apply(call)
        call.isApplied = true
        trace?("\(now) \(call.runner.leaseName) p\(call.runner.project) \(call.request) -> \(call.reply)")
        guard call.generation == call.link.generation, call.incarnation == call.runner.process.incarnation else {
            return
        }
        schedule(.answer(call), at: call.link.answer(latency: latency(call.link), now: now))
    }

    private func answer(_ call: Call) {
        let runner = call.runner
        guard call.generation == call.link.generation, isAwake(runner.process, call.incarnation, .answer(call)) else {
            return
        }
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
        schedule(
            .connected(
                process,
                isLease: link.isLease,
                incarnation: process.incarnation,
                generation: link.generation
            ),
            at: now + delay
        )
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
        schedule(
            .beat(process, incarnation: process.incarnation),
            at: now + Int(scenario.renewMs) * 1_000
        )
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
        schedule(.beat(process, incarnation: process.incarnation), at: now + 100_000)
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
        schedule(.boot(process), at: now + length)
    }

    private func checkDrain(_ process: WorkerProcess, _ began: Int) {
        let isDrained = process.runners.allSatisfy(\.isDrained)
        guard isDrained || now - began > 10_000_000 else {
            return schedule(.drained(process, incarnation: process.incarnation, began: began), at: now + 50_000)
        }
        if isDrained {
            for runner in process.runners where runner.lease.isHeld {
                send(.deregister(runner.leaseName), from: runner)
            }
        }
        schedule(.exit(process, incarnation: process.incarnation), at: now + 200_000)
    }

    // MARK: Jobs

    private func push(_ push: Scenario.Push) {
        guard redis.isUp, now >= redis.stallsUntil else { return schedule(.push(push), at: now + 200_000) }
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
            schedule(
                .entry(runner, job: entry.job, incarnation: reader.incarnation),
                at: now + latency(reader.data)
            )
        }
    }

    // MARK: FCM

    func transmit(_ flight: Flight) {
        let isQuiet = now > scenario.lastDisturbance
        if !isQuiet, dice.chance(scenario.unsentChance) {
            flight.answer = .unsent
            referees[flight.runner.project].wasRefused(flight.index, of: flight.job)
            return schedule(.completed(flight), at: now + dice.int(100...20_000))
        }
        schedule(.arrive(flight), at: now + oneWay)
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
        case .accepted: schedule(.completed(flight), at: now + oneWay)
        case .lost: schedule(.completed(flight), at: flight.startedAt + scenario.requestTimeout)
        case .failed, .busy, .slowDown, .unsent:
            referees[project].wasRefused(flight.index, of: flight.job)
            schedule(.completed(flight), at: now + oneWay)
        }
    }
}
