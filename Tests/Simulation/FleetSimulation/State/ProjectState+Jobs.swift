internal import FanfareModel

/// The states of jobs: queued, paused, parked, ending, ended.
extension ProjectState {
    static func hasFirstPass(_ job: JobRecord) -> Bool {
        job.next < job.total || job.again || (job.kind.takesTurns && !job.orphans.isEmpty)
    }

    static func canRun(_ job: JobRecord) -> Bool {
        job.isOpen && !job.isOver && !job.isPaused && !job.isParked && job.ending == .none && hasFirstPass(job)
    }

    mutating func enqueue(_ id: Int) {
        let turn = jobs[id].turn
        jobs[id].isDeferred = false
        switch jobs[id].kind {
        case .single: Self.insert(turn, into: &singles)
        case .group: Self.insert(turn, into: &groups)
        case .fanout, .broadcast: slot.wait(turn)
        }
    }

    mutating func dequeue(_ id: Int) {
        switch jobs[id].kind {
        case .single: singles.removeAll { $0.job == id }
        case .group: groups.removeAll { $0.job == id }
        case .fanout, .broadcast: slot.stopWaiting(id)
        }
    }

    /// Whether the batch needs a turn before its next send. A fan-out's first-pass batch does until all its sends have
    /// begun. Any batch of a topic or condition does, because each of its sends is a fan-out.
    func needsTurn(_ name: BatchName, _ batch: BatchRecord) -> Bool {
        switch jobs[name.job].kind {
        case .broadcast: !batch.isSent
        case .fanout: !name.isRetry && !batch.isSent
        case .single, .group: false
        }
    }

    /// Restores a job that may be sent again: its waiting retries, its orphans and its place in the queue.
    mutating func restore(_ id: Int, referee: Referee) {
        for due in jobs[id].held { addRetry(due) }
        jobs[id].held = []
        let names = jobs[id].orphans
        jobs[id].orphans = []
        for name in names {
            if referee.breaks(.keepSlotForTail), jobs[id].kind == .fanout {
                jobs[id].orphans.append(name)
            } else {
                orphan(name, referee: referee)
            }
        }
        if let guards = jobs[id].guards, guards.hold != .none { return }
        if !scheduled.contains(where: { $0.job == id }), Self.hasFirstPass(jobs[id]), !slot.isActive(id) { enqueue(id) }
    }

    mutating func finishJob(_ id: Int) {
        dequeue(id)
        slot.release(id)
        jobs[id].isOver = true
        jobs[id].isOpen = false
        openCount -= 1
        jobs[id].stoppedAt = nil
        jobs[id].orphans = []
        jobs[id].held = []
        later[id] = nil
        ending.removeAll { $0 == id }
        expiring.removeAll { $0.job == id }
        scheduled.removeAll { $0.job == id }
        parked.removeAll { $0 == id }
        rolledBack = rolledBack.filter { $0.key.job != id }
    }

    /// Parks a job until an operator treats it. Its unfinished recipients are kept.
    mutating func park(_ id: Int, _ nowMs: Int64, referee: Referee) {
        // An ending job makes no further sends, so it is not parked.
        guard jobs[id].isOpen, !jobs[id].isParked, jobs[id].ending == .none else { return }
        dequeue(id)
        slot.release(id)
        jobs[id].isParked = true
        jobs[id].stoppedAt = jobs[id].stoppedAt ?? referee.now
        parked.append(id)
        appendNews(.stop(epoch: nextEpoch(nowMs)), id, nowMs)
        referee.tally.parked += 1
    }

    /// Ends a job early: workers write the result of each unfinished recipient without a send.
    mutating func end(_ id: Int, _ status: ResultStatus, _ nowMs: Int64, referee: Referee) {
        guard jobs[id].isOpen, jobs[id].ending == .none else { return }
        jobs[id].isPaused = false
        jobs[id].isParked = false
        jobs[id].guards?.hold = .none
        later[id] = nil
        jobs[id].ending = status
        jobs[id].stoppedAt = jobs[id].stoppedAt ?? referee.now
        parked.removeAll { $0 == id }
        scheduled.removeAll { $0.job == id }
        expiring.removeAll { $0.job == id }
        // The project's lists may contain orphaned batches of this job.
        for names in [orphans, suspects] { jobs[id].orphans += names.filter { $0.job == id } }
        orphans.removeAll { $0.job == id }
        suspects.removeAll { $0.job == id }
        dequeue(id)
        slot.release(id)
        ending.append(id)
        appendNews(.end(status), id, nowMs)
    }

    // MARK: Operators' commands

    mutating func pause(_ id: Int, _ nowMs: Int64, referee: Referee) {
        guard jobs[id].isOpen, !jobs[id].isParked, jobs[id].ending == .none, !jobs[id].isPaused else { return }
        jobs[id].isPaused = true
        jobs[id].stoppedAt = jobs[id].stoppedAt ?? referee.now
        dequeue(id)
        slot.release(id)
        appendNews(.stop(epoch: nextEpoch(nowMs)), id, nowMs)
    }

    mutating func resume(_ id: Int, referee: Referee) {
        let isHeld = jobs[id].guards?.hold == .held
        guard jobs[id].isOpen, jobs[id].isPaused || isHeld, !jobs[id].isParked else { return }
        if isHeld { endCanary(id) }
        continueJob(id, referee: referee)
    }

    mutating func replay(_ id: Int, referee: Referee) {
        guard jobs[id].isOpen, jobs[id].isParked else { return }
        parked.removeAll { $0 == id }
        for name in jobs[id].orphans { batches[name]?.tally = CrashTally() }
        jobs[id].crashed = [:]
        continueJob(id, referee: referee)
    }

    private mutating func continueJob(_ id: Int, referee: Referee) {
        jobs[id].isPaused = false
        jobs[id].isParked = false
        jobs[id].stoppedAt = nil
        jobs[id].guards?.sample = []
        if jobs[id].guards?.hold == .afterPause { jobs[id].guards?.hold = .held }
        referee.resumed(id)
        restore(id, referee: referee)
    }

    mutating func drop(_ id: Int, _ nowMs: Int64, referee: Referee) {
        guard jobs[id].isOpen, jobs[id].isParked else { return }
        end(id, .cancelled, nowMs, referee: referee)
    }
}
