internal import FanfareModel
internal import StreamWire

/// Batches begin, are stopped, end, and are removed.
extension SendMachine {
    // MARK: Begin

    mutating func batchTaken(_ claim: Claim, _ job: SendJob) {
        let slot = batches.openNewJob(claim.job)
        load(slot, job)
        beginBatch(claim, slot, isTaken: true)
    }

    /// - Parameter spec: the job's; nil where it has to be asked for.
    mutating func claimed(_ claim: Claim, _ spec: JobSpec? = nil) {
        let known = batches.jobSlot(claim.job)
        let job = batches.openJob(claim.job, born: claim.born)
        if claim.isQuarantined { quarantinedClaimed(claim) }
        beginBatch(claim, job)
        guard job != known else { return }
        if let spec { loaded(claim.job, spec) } else { actions.append(.loadSpec(job: claim.job)) }
    }

    private mutating func beginBatch(_ claim: Claim, _ job: Int, isTaken: Bool = false) {
        let slot = batches.insert(HeldBatch(claim, job: job, isTaken: isTaken, startedNs: now.monotonicNs))
        if let ending = claim.ending.flatMap(ResultStatus.init) { batches[job: job].ending = ending }
        if let ending = batches[job: job].ending {
            batches.held[slot].state = batches.held[slot].state.after(.end(ending))
        }
        prepare(slot)
        if gate.isDraining, batch(slot)?.state.isPreparing ?? false { stop(slot) }
    }

    mutating func loaded(_ id: String, _ spec: JobSpec) {
        guard let job = batches.jobSlot(id) else { return }
        if batches[job: job].job == nil {
            let adapter = lastLoaded?.adapter(for: spec)
            let loaded = SendJob(id: batches[job: job].id, spec: spec, settings: settings.protocols, adapter: adapter)
            lastLoaded = loaded
            load(job, loaded)
        }
        for slot in batches.slots(where: { $0.job == job && $0.state.isPreparing }) { prepare(slot) }
    }

    private mutating func load(_ slot: Int, _ job: SendJob) {
        batches[job: slot].job = job
        if job.countsRepeats { batches[job: slot].repeats = CountMinSketch() }
    }

    /// Makes a batch ready to be sent once its job's spec is known and no quarantine holds it.
    mutating func prepare(_ slot: Int) {
        guard let job = batches[jobOf: slot].job, !batches.held[slot].isQuarantined || quarantine.isHeld else { return }
        batches.held[slot].prepare(job)
        actions.append(.batchBegan(slot: slot))
        if batches.held[slot].deliveries > 1 {
            let batch = batches.held[slot]
            actions.append(.meter(.tookOver))
            // In a batch that a pause gave back nothing is in doubt: no worker died.
            if !batch.maybeSent.isEmpty {
                log(
                    .info,
                    "A batch was taken over.",
                    [("job", batch.source.job), ("batch", batch.source.batch), ("deliveries", "\(batch.deliveries)")]
                )
            }
        }
        let situation = situation(slot)
        for position in batches.held[slot].maybeSent {
            let recipient = batches.held[slot].recipients[position]
            let refused = situation.job.adapter.flatMap { rules.refused(recipient, situation.job, $0) }
            write(refused ?? rules.doubtful(recipient, situation), position, slot)
        }
        switch batches.held[slot].state {
        case .ending: endUnsent(slot)
        case .sending where gate.isDraining: stop(slot)
        case .sending:
            if batches.held[slot].open == 0 { closeIfDone(slot) } else { enqueue(slot) }
        case .preparing, .stopping, .lost, .closed, .released: preconditionFailure("the batch was just prepared")
        }
    }

    /// The job ended before its spec was read: Redis has nothing of these batches any more.
    mutating func forget(_ id: String) {
        guard let job = batches.jobSlot(id), batches[job: job].job == nil else { return }
        for slot in batches.slots(where: { $0.job == job }) { remove(slot) }
    }

    /// A newer version wrote the job: a second later its batches go back for a worker that can read it. Sooner, they might
    /// be given to this worker again and again.
    mutating func unreadable(_ id: String) {
        if logLimits.admitsUnreadable(id, now: now.monotonicNs) {
            log(
                .error,
                "This worker cannot read the job, and leaves it to a newer version: upgrade every worker.",
                [("job", id)]
            )
        }
        actions.append(.giveUpJobLater(id))
    }

    // MARK: Stop and end

    /// The job was paused or parked: what was claimed of it up to this epoch goes back as soon as it is quiet.
    ///
    /// - Parameter onlyPreparing: leaves batches alone whose job's spec is known.
    mutating func stop(_ id: String, epoch: Int64, onlyPreparing: Bool = false) {
        guard batches.jobSlot(id) != nil else { return }
        let stopped = batches.slots { batch in
            batch.source.job == id && !batch.state.isOver && (!onlyPreparing || batch.state.isPreparing)
                && (Int64(batch.source.epoch).map { $0 <= epoch } ?? true)
        }
        for slot in stopped { stop(slot) }
    }

    mutating func stopAll(where isStopped: (HeldBatch) -> Bool) {
        for slot in batches.slots(where: { !$0.state.isOver && isStopped($0) }) { stop(slot) }
    }

    /// Gives back what of a batch was not sent; the batch itself goes back when it is quiet.
    mutating func stop(_ slot: Int) {
        let isPreparing = batches.held[slot].state.isPreparing
        batches.held[slot].state = batches.held[slot].state.after(.stop)
        if isPreparing {
            let batch = batches.held[slot]
            // This worker sent nothing of it; Redis knows how far an earlier holder came.
            let watermark = batch.deliveries == 1 ? 0 : nil
            actions.append(.release(batch: batch.name, epoch: batch.source.epoch, watermark: watermark))
            return remove(slot)
        }
        guard batches.held[slot].state == .stopping else { return }
        dequeue(slot)
        for position in batches.held[slot].unsent.removeBelowWatermark() { giveBack(position, slot) }
        closeIfDone(slot)
        retire(slot)
    }

    /// The job ends: each recipient without a result gets this status.
    mutating func end(_ id: String, _ status: ResultStatus) {
        guard batches.jobSlot(id) != nil else { return }
        for slot in batches.slots(where: { $0.source.job == id }) {
            batches[jobOf: slot].ending = status
            guard !batches.held[slot].state.isOver else { continue }
            batches.held[slot].state = batches.held[slot].state.after(.end(status))
            if !batches.held[slot].state.isPreparing { endUnsent(slot) }
        }
    }

    private mutating func endUnsent(_ slot: Int) {
        dequeue(slot)
        let situation = situation(slot)
        for position in batches.held[slot].unsent.removeAll() { end(position, slot, situation) }
        closeIfDone(slot)
    }

    /// Ends a recipient, and all equal ones, with the job's status.
    mutating func end(_ position: Int, _ slot: Int) { end(position, slot, situation(slot)) }

    private mutating func end(_ position: Int, _ slot: Int, _ situation: OutcomeRules.Situation) {
        for shared in batches.held[slot].unsent.sharing(position) {
            write(rules.end(batches.held[slot].recipients[shared], situation), shared, slot)
        }
    }

    /// Another worker may own the batch from now on.
    mutating func lose(_ slot: Int, _ loss: BatchState.Loss) {
        let isPreparing = batches.held[slot].state.isPreparing
        batches.held[slot].state = batches.held[slot].state.after(.lose(loss))
        guard !isPreparing else { return remove(slot) }
        dequeue(slot)
        _ = batches.held[slot].unsent.removeAll()
        retire(slot)
    }

    /// Redis does not hold these batches as this worker does: their results are written as late facts.
    mutating func forgotten(_ names: [String]) {
        let names = Set(names)
        var count = 0
        for slot in batches.slots(where: { names.contains($0.name) }) {
            if !batches.held[slot].mayBeClosed { count += 1 }
            lose(slot, .forgotten)
        }
        guard count > 0 else { return }
        log(
            .warning,
            "Redis came back with an older state; the batches that it forgot are taken over.",
            [("batches", "\(count)")]
        )
    }

    mutating func leaseLost() {
        flushAll()
        for slot in batches.slots(where: { _ in true }) { lose(slot, .leaseLost) }
        leaveQuarantine()
    }

    // MARK: Remove

    /// Lets go of a quiet batch that is over, and gives a quiet batch back that was stopped.
    mutating func retire(_ slot: Int) {
        guard batches.held[slot].isQuiet else { return }
        if batches.held[slot].state == .stopping {
            // From here on it is another worker's; if the call is lost, the next comparison gives it back.
            actions.append(
                .release(batch: batches.held[slot].name, epoch: batches.held[slot].source.epoch, watermark: nil)
            )
            batches.held[slot].state = batches.held[slot].state.after(.release)
        }
        let outcome: BatchOutcome
        switch batches.held[slot].state {
        case .closed: outcome = .closed
        case .released: outcome = .returned
        case .lost: outcome = .lost
        case .preparing, .sending, .stopping, .ending: return
        }
        let heldNs = now.monotonicNs - min(now.monotonicNs, batches.held[slot].startedNs)
        actions.append(.meter(.letGo(outcome, afterNs: heldNs)))
        actions.append(.batchEnded(slot: slot, outcome))
        remove(slot)
    }

    // MARK: The queue

    /// Puts a batch into the queue, or counts it again if it stands there.
    mutating func enqueue(_ slot: Int) {
        if !batches.held[slot].isQueued {
            batches.held[slot].isQueued = true
            queue.append(slot, to: queueKind(slot), priority: sendJob(slot).spec.priority)
        }
        recount(slot)
    }

    mutating func recount(_ slot: Int) {
        let change = (batches.held[slot].isQueued ? sendableCount(slot) : 0) - batches.held[slot].queuedCount
        guard change != 0 else { return }
        batches.held[slot].queuedCount += change
        queue.count(change, in: queueKind(slot))
    }

    /// Unsent recipients of a batch, for which the worker needs permits and which fill its room. Recipients that wait
    /// for a guard do neither: another job may have to continue before.
    mutating func sendableCount(_ slot: Int) -> Int {
        guard !isGranted(slot) else { return batches.held[slot].unsent.leftBelowWatermark }
        return batches.held[slot].unsent.leftWithToken + roundCount(slot)
    }

    /// Whether a guard may allow a part of the batch, and the rest later.
    mutating func isGranted(_ slot: Int) -> Bool { batches.held[slot].pass == .first && sendJob(slot).isGrantedInParts }

    /// Sends nothing more of a batch.
    mutating func dequeue(_ slot: Int) {
        unqueue(slot)
        guard batches[roundOf: slot] != nil else { return }
        batches[roundOf: slot]?.stop()
        settleRound(slot)
    }

    mutating func unqueue(_ slot: Int) {
        guard batches.held[slot].isQueued else { return }
        batches.held[slot].isQueued = false
        recount(slot)
        queue.remove(slot, from: queueKind(slot))
    }

    @inline(__always)
    mutating func queueKind(_ slot: Int) -> SendQueue.Kind {
        let job = sendJob(slot)
        return job.isFanout ? .fanouts : job.isManagement ? .managed : .singles
    }
}

extension HeldBatch {
    /// Completes the batch from its job's spec.
    fileprivate mutating func prepare(_ job: SendJob) {
        source = BatchSource(job: source.job, batch: source.batch, epoch: source.epoch, isManagement: job.isManagement)
        // Operations are idempotent: no watermark has to say how far they have come.
        let confirmed = job.isManagement ? count : claimedWatermark
        if job.spec.isPersonal || job.spec.kind == .group {
            for position in recipients.indices where recipients[position].progress != .settled {
                recipients[position].read(job)
            }
        }
        let boundary = pass == .first ? job.canary.map { $0 - (recipients.first?.index ?? 0) } : nil
        let isGranted = pass == .first && job.isGrantedInParts
        unsent = UnsentRecipients(
            recipients,
            confirmed: confirmed,
            boundary: boundary,
            isGranted: isGranted,
            joinsEqual: state.endingStatus == nil
        )
        open = recipients.count { $0.progress != .settled }
        state = state.after(.prepared)
    }
}
