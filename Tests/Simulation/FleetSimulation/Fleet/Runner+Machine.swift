internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// One send in flight.
final class Flight {
    let runner: Runner
    let incarnation: Int
    /// The machine's tag of the request.
    let tag: Int
    let job: Int
    let index: Int
    let startedAt: Int
    var answer: FCMModel.Answer = .accepted

    init(runner: Runner, tag: Int, job: Int, index: Int, startedAt: Int) {
        self.runner = runner
        incarnation = runner.process.incarnation
        self.tag = tag
        self.job = job
        self.index = index
        self.startedAt = startedAt
    }
}

/// Passes events to the machine and performs its actions.
extension Runner {
    /// Lets the machine handle an event and begin the sends that are allowed then.
    func handle(_ event: SendEvent) {
        readResources()
        machine.handle(event, now: instant, into: &actions)
        send()
    }

    func send() {
        readResources()
        let room: SendMachine.Room = [.fcm: world.scenario.maximumInFlight]
        machine.send(within: room, now: instant, into: &actions)
        perform()
    }

    /// Updates the gate's view of the worker's resources.
    func readResources() {
        machine.gate.resources.leaseHolds = leaseHolds
        machine.gate.resources.isQuarantineOpen = process.quarantine.admits(self)
        machine.gate.resources.isQuarantineHeld = process.quarantine.isExclusive
    }

    /// Performs the actions in order, including actions added meanwhile.
    private func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        performRest(from: 0)
    }

    /// Performs the actions from a place on. The process may be frozen between any two of them.
    private func performRest(from first: Int) {
        let incarnation = process.incarnation
        var next = first
        // A poison recipient may crash the process.
        while next < actions.count, process.incarnation == incarnation {
            if case .send = actions[next], next > first, world.freezes(process) {
                let rest = next
                return world.schedule(process, at: process.frozenUntil) { [self] in performRest(from: rest) }
            }
            perform(actions[next])
            next += 1
        }
        actions.removeAll(keepingCapacity: true)
        isPerforming = false
        process.quarantine.tick()
    }

    private func perform(_ action: SendAction) {
        switch action {
        case .send(let tag, _):
            guard machine.mayBegin(tag, now: instant) || world.breaks(.sendAfterFreeze) else {
                return machine.handle(
                    .completed(tag: tag, .unsent(reason: "frozen")),
                    now: instant,
                    into: &actions
                )
            }
            begin(tag)
        case .flush(let flush): write(flushes.add(flush))
        case .release(let batch, let epoch, let watermark): release(batch, epoch, watermark)
        case .loadSpec(let job): load(job)
        case .enterQuarantine(let mode): process.quarantine.enter(self, mode)
        case .leaveQuarantine: process.quarantine.leave(self)
        case .arm(let timer, let time): arm(timer, at: time)
        case .claim: claimLater(0)
        case .claimPermits: if let next = plan.starved() { claimLater(next) }
        case .meter, .log, .batchBegan, .batchEnded: break
        case .checkRate, .requestManagement, .giveUpJobLater, .refuseCredential, .renewCredential, .retryCredential:
            world.referees[project].violate("unexpected action of the machine: \(action)")
        }
    }

    private func arm(_ timer: SendTimer, at time: UInt64) {
        world.schedule(process, at: world.now + delay(until: time)) { [self] in handle(.timer(timer)) }
    }

    private func release(_ batch: String, _ epoch: String, _ watermark: Int?) {
        guard let name = BatchName(batch), let epoch = UInt64(epoch) else { return }
        world.send(.release(leaseName, name, epoch: epoch, watermark: watermark), from: self)
    }

    // MARK: Flushes

    /// Writes a flush, for the first time or again.
    func write(_ id: UInt64) {
        guard let flush = flushes.begin(id) else { return }
        guard var request = RecordRequest(flush.call, lease: leaseName) else {
            return world.referees[project].violate("a flush has no valid batch: \(flush.call)")
        }
        if world.breaks(.forgetWatermarks) { request.call.watermark = nil }
        world.send(.record(request), from: self, flush: id)
    }

    func confirmed(_ call: Call) {
        guard let id = call.flush, case .record(let reply) = call.reply else { return }
        switch flushes.handle(reply.map { .reply($0) } ?? .refused, of: id, now: localNow) {
        case .answered(let flush, let reply): handle(.flushed(flush, reply))
        case .writeAgain(let milliseconds):
            world.schedule(process, at: world.now + Int(milliseconds) * 1_000) { [self] in write(id) }
        case .none: break
        }
    }

    // MARK: Specs

    private func load(_ id: String) {
        guard let job = ProductJob.number(id) else { return }
        loading.insert(job)
        world.send(.spec(job: job), from: self)
    }

    func loaded(_ job: Int, isOpen: Bool) {
        loading.remove(job)
        let id = ProductJob.id(job)
        handle(isOpen ? .specLoaded(job: id, world.jobs[project][job].spec) : .specMissing(job: id))
    }

    // MARK: Sends

    private func begin(_ tag: Int) {
        guard let begun = machine.request(tag), let batch = machine.batch(begun.slot),
            let name = BatchName(job: batch.source.job, batch: batch.source.batch)
        else { return world.referees[project].violate("the machine sent a request that it does not know") }
        let recipient = batch.recipients[begun.positions[0]]
        guard !world.isPoison(project, name.job, recipient.index) else {
            return world.crash(process, downFor: 200_000 + 100_000 * process.number)
        }
        let send = Referee.Send(
            name: name,
            epoch: UInt64(batch.source.epoch) ?? 0,
            index: recipient.index,
            position: begun.positions[0],
            isMaybeDuplicate: recipient.history.maybeDuplicate
        )
        world.referees[project].willSend(
            send,
            lease: leaseName,
            isPathClear: world.isPathClear(process),
            in: world.redis.projects[project]
        )
        world.transmit(
            Flight(runner: self, tag: tag, job: name.job, index: recipient.index, startedAt: world.now)
        )
    }

    func completed(_ flight: Flight) {
        switch flight.answer {
        case .busy(.some): world.referees[project].answered(isRefused: true)
        case .accepted, .failed, .slowDown, .busy(nil): world.referees[project].answered(isRefused: false)
        case .lost, .unsent: break
        }
        if case .lost = flight.answer, world.breaks(.refusedWithoutProof) { flight.answer = .unsent }
        handle(.completed(tag: flight.tag, flight.answer.outcome))
    }
}
