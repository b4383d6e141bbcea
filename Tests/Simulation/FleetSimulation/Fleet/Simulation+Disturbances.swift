internal import FanfareCore
internal import FanfareModel

/// Disturbances of a run, and the operator's reactions.
extension Simulation {
    func disturb(_ what: Scenario.Disturbance) {
        trace?("\(now) \(what)")
        switch what {
        case .crash(let worker, let length): crash(processes[worker], downFor: length)
        case .freeze(let worker, let length):
            processes[worker].frozenUntil = max(processes[worker].frozenUntil, now + length)
        case .restart(let worker): drain(processes[worker])
        case .cut(let worker, let isLease):
            let process = processes[worker]
            let link = isLease ? process.lease : process.data
            if process.isUp, link.isReady { cut(process, link) }
        case .slow(let worker, let length):
            processes[worker].data.slowUntil = now + length
            processes[worker].lease.slowUntil = now + length
        case .silence(let worker, let length):
            processes[worker].lease.isDownUntil = now + length
            if processes[worker].isUp { cut(processes[worker], processes[worker].lease) }
        case .redisGone(let length, let loses, let clockMs):
            guard redis.isUp else { return }
            redis.isUp = false
            for process in processes where process.isUp {
                for link in [process.data, process.lease] where link.isReady { cut(process, link, redisIsGone: true) }
            }
            schedule(at: now + length) { [self] in redisBack(loses > 0, clockMs) }
        case .redisStalls(let length): redis.stallsUntil = max(redis.stallsUntil, now + length)
        case .clockStep(let ms): stepClock(ms)
        case .cancel(let project, let job):
            redis.projects[project].value.end(job, .cancelled, redis.nowMs, referee: referees[project])
        case .pause(let project, let job, let length):
            redis.projects[project].value.pause(job, redis.nowMs, referee: referees[project])
            schedule(at: now + length) { [self] in resume(project, job) }
        case .pauseProject(let project, let length):
            redis.projects[project].value.isPaused = true
            redis.projects[project].value.pausedAt = now
            schedule(at: now + length) { [self] in resume(project, nil) }
        case .outage(let project, let length): fcm[project].outageUntil = now + length
        }
    }

    /// Whether a process is frozen right now, between two of its actions.
    func freezes(_ process: WorkerProcess) -> Bool {
        guard freezesLeft > 0, now < scenario.lastDisturbance, freezingDice.chance(0.05) else { return false }
        freezesLeft -= 1
        clock.tally.freezes += 1
        process.frozenUntil = max(process.frozenUntil, now + freezingDice.int(100_000...5_000_000))
        return true
    }

    private func drain(_ process: WorkerProcess) {
        guard process.isUp, !process.isDraining, now >= process.frozenUntil else { return }
        process.isDraining = true
        for runner in process.runners { runner.handle(session: .drain) }
        let began = now
        schedule(process, at: now + 10_000) { [self] in checkDrain(process, began) }
    }

    private func stepClock(_ ms: Int64) {
        redis.aheadMs += ms
        clock.steppedAt = now
        if ms < 0 { clock.hasSteppedBack = true }
    }

    func redisBack(_ losesState: Bool, _ clockMs: Int64) {
        redis.isUp = true
        redis.restart()
        if losesState { redis.rollBack() }
        if clockMs != 0 { stepClock(clockMs) }
    }

    func resume(_ project: Int, _ job: Int?) {
        guard redis.isUp else { return schedule(at: now + 100_000) { [self] in resume(project, job) } }
        if let job {
            redis.projects[project].value.resume(job, referee: referees[project])
        } else {
            redis.projects[project].value.isPaused = false
        }
    }

    /// Delivers entries, lets the operator treat parked jobs, and checks for the end of the run. Called four times a
    /// second.
    func inspect() {
        defer { if !isFinished { schedule(at: now + 250_000) { [self] in inspect() } } }
        guard redis.isUp else { return }
        var isOver = pushesLeft == 0
        for (project, box) in redis.projects.enumerated() {
            if !box.value.entries.isEmpty { deliver(project) }
            for job in box.value.parked { operate(project, job) }
            for job in box.value.jobs where job.guards != nil { resumeIfPaused(project, job) }
            // The operator repeats a resume that a rollback lost.
            if now > scenario.lastDisturbance {
                box.value.isPaused = false
                for job in box.value.jobs where job.isPaused && job.guards == nil {
                    box.value.resume(job.number, referee: referees[project])
                }
            }
            isOver = isOver && box.value.entries.isEmpty && box.value.jobs.allSatisfy(\.isOver)
        }
        if now > scenario.deadline, !isOver {
            for (project, box) in redis.projects.enumerated() {
                if let job = box.value.jobs.first(where: { !$0.isOver }) {
                    referees[project].violate("job \(job.number) is not finished: \(describe(job, box.value))")
                }
            }
        }
        isFinished = isOver
    }

    /// The operator resumes a job that a guard paused, and later any that is still paused.
    private func resumeIfPaused(_ project: Int, _ job: JobRecord) {
        let isHeld = job.guards?.hold == .held && job.guards?.canaryUntilMs == nil
        let isStopped = referees[project].stops[job.number] != nil || now > scenario.lastDisturbance
        guard job.isOpen, isHeld || (job.isPaused && isStopped) else {
            pausedSince[project][job.number] = nil
            return
        }
        let since = pausedSince[project][job.number] ?? now
        pausedSince[project][job.number] = since
        guard now - since >= scenario.projects[project].resumedAfter[job.number] ?? 0 else { return }
        pausedSince[project][job.number] = nil
        redis.projects[project].value.resume(job.number, referee: referees[project])
    }

    private func describe(_ job: JobRecord, _ state: ProjectState) -> String {
        "\(job.kind), \(job.left) of \(job.total) left, next \(job.next), passed \(job.passed), open \(job.isOpen), "
            + "paused \(job.isPaused), parked \(job.isParked), ending \(String(describing: job.ending)), again \(job.again), "
            + "guards \(String(describing: job.guards)), deferred \(job.isDeferred), later \(state.later), "
            + "waiting \(job.waiting.count { $0 != nil }), orphans \(job.orphans), suspects \(state.suspects), "
            + "free \(state.orphans), active \(state.slot.active.map(\.turn.job)), "
            + "quarantined \(String(describing: state.quarantined)), claims \(state.claims.filter { !$0.value.isEmpty })"
    }

    /// The operator treats a parked job after a second: fixes the message and replays the job, or drops it.
    private func operate(_ project: Int, _ job: Int) {
        guard let since = parkedSince[project][job] else {
            parkedSince[project][job] = now
            return
        }
        guard now - since > 1_000_000 else { return }
        parkedSince[project][job] = nil
        poison[project][job] = nil
        if dice.chance(0.5) {
            redis.projects[project].value.replay(job, referee: referees[project])
        } else {
            redis.projects[project].value.drop(job, redis.nowMs, referee: referees[project])
        }
    }
}
