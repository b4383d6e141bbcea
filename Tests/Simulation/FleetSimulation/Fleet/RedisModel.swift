internal import FanfareCore
internal import StreamWire

/// Model of the Redis server: it applies one call at a time, has its own clock, and can roll back to an earlier state.
final class RedisModel {
    let clock: Clock
    var projects: [ProjectStateBox]
    let referees: [Referee]
    /// Its clock against true time, milliseconds.
    var aheadMs: Int64 = 0
    /// The server answers no call before this time.
    var stallsUntil = 0
    var isUp = true
    /// Increases with each start: workers see a different server.
    private(set) var server = 0
    private var image: [ProjectState] = []
    /// Decides which record calls fail. A separate generator, so that failures do not change the other draws of a seed.
    private var errorDice: Dice
    private let errorChance: Double
    private let lastDisturbance: Int

    init(scenario: Scenario, clock: Clock, seed: UInt64) {
        self.clock = clock
        var dice = Dice(seed: seed ^ 0xE440_4000)
        let hasErrors = dice.chance(0.25) && !scenario.isCalm
        errorChance = hasErrors ? dice.unit() * 0.15 : 0
        errorDice = dice
        lastDisturbance = scenario.lastDisturbance
        projects = scenario.projects.map {
            ProjectStateBox(
                ProjectState(
                    jobs: $0.jobs,
                    batchSize: scenario.batchSize,
                    quota: $0.quota,
                    activeLimit: scenario.activeLimit
                )
            )
        }
        referees = scenario.projects.enumerated().map { number, project in
            Referee(
                clock: clock,
                project: number,
                jobs: project.jobs,
                quota: project.quota,
                activeLimit: scenario.activeLimit
            )
        }
    }

    var nowMs: Int64 { Scenario.epochMs + Int64(clock.now / 1_000) + aheadMs }

    func restart() { server += 1 }

    func remember() { image = projects.map(\.value) }

    /// Restores the state of the last ``remember()``. Entries that producers wrote since then stay, because producers
    /// detect the loss and write them again.
    func rollBack() {
        guard !image.isEmpty else { return }
        for (box, old) in zip(projects, image) {
            var state = old
            for job in box.value.jobs where !job.isOpen && !job.isOver {
                guard box.value.entries.contains(where: { $0.job == job.number }),
                    !state.entries.contains(where: { $0.job == job.number })
                else { continue }
                state.entries.append((job.number, 0))
            }
            for job in box.value.jobs where (job.isOpen || job.isOver) && !old.jobs[job.number].isOpen {
                guard !old.jobs[job.number].isOver, !state.entries.contains(where: { $0.job == job.number }) else {
                    continue
                }
                state.entries.append((job.number, 0))
            }
            box.value = state
        }
        image = []
        clock.hasRolledBack = true
        clock.rolledBackAt = clock.now
        clock.tally.rollbacks += 1
    }

    /// Applies a record call. Some calls fail: before the first write, after the results entry, or after the step is
    /// logged. The next call first applies a logged step, so the model applies it at once.
    private func record(
        _ request: RecordRequest,
        _ box: ProjectStateBox,
        _ nowMs: Int64,
        _ referee: Referee
    ) -> RecordReply? {
        guard errorChance > 0, clock.now <= lastDisturbance, errorDice.chance(errorChance) else {
            return box.value.record(request, nowMs, referee: referee)
        }
        clock.tally.failedCalls += 1
        let point = errorDice.int(0...2)
        if point > 0 { _ = box.value.record(request, nowMs, failsBetween: point == 1, referee: referee) }
        return nil
    }

    func apply(_ call: Call) {
        let referee = referees[call.runner.project]
        let box = projects[call.runner.project]
        let now = nowMs
        switch call.request {
        case .claim(let request):
            if let reply = box.value.claim(request, now, referee: referee) {
                call.reply = .claim(reply)
            } else {
                call.reply = .fenced
            }
        case .record(let request): call.reply = .record(record(request, box, now, referee))
        case .renew(let lease):
            call.reply = box.value.renew(lease, referee: referee) ? .renewed(box.value.leases) : .fenced
        case .register(let lease):
            box.value.register(lease, referee: referee)
            call.reply = .registered(box.value.lastNews)
        case .declareDead(let lease, let counter):
            call.reply = .count(box.value.declareDead(lease, counter: counter, now, referee: referee))
        case .deregister(let lease): call.reply = .count(box.value.deregister(lease, now, referee: referee))
        case .reconcile(let lease, let connection, let isSameServer, let known):
            let taken = box.value.reconcile(lease, connection, isSameServer: isSameServer, known, referee: referee)
            call.reply = .reconciled(taken)
        case .release(let lease, let name, let epoch, let watermark):
            box.value.release(lease, name, epoch: epoch, watermark: watermark, referee: referee)
        case .count(.keys): call.reply = .count((box.value.openCount > 0 ? 1 : 0) + (box.value.isPaused ? 1 : 0))
        case .count(.entries): call.reply = .count(box.value.entries.count)
        case .spec(let job): call.reply = .spec(isOpen: box.value.jobs[job].isOpen)
        case .intake(let job, let lease, let connection, let window):
            let reply = box.value.intake(
                job,
                lease: lease,
                connection: connection,
                window: window,
                now,
                referee: referee
            )
            call.reply = .intake(reply)
        }
        referee.checkSlot(of: box.value)
    }
}
