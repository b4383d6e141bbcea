internal import FanfareModel
internal import StreamWire

/// The library's `intake` and `record`.
extension ProjectState {
    enum IntakeReply {
        case gone, queued
        case taken(Given, permits: Int)
    }

    /// Takes an entry in: one step removes it from the stream and writes the job.
    mutating func intake(
        _ id: Int,
        lease: Int?,
        connection: Int = 0,
        window: Int,
        _ nowMs: Int64,
        referee: Referee
    ) -> IntakeReply {
        guard let entry = entries.firstIndex(where: { $0.job == id }) else { return .gone }
        entries.remove(at: entry)
        jobs[id].isOpen = true
        openCount += 1
        let job = jobs[id]
        if job.expiresAtMs > 0 { Self.insert(Due(ms: job.expiresAtMs, job: id, index: 0), into: &expiring) }
        let isHeld = job.notBeforeMs > nowMs
        let isStopped =
            isPaused || quarantined == lease || governor.holdMs(nowMs: nowMs) > 0
            || (job.expiresAtMs > 0 && job.expiresAtMs <= nowMs)
            || (job.kind == .group && groupsOn.count >= Self.maximumGroups) || !singles.isEmpty
            || rolledBack[BatchName(job: id, part: 0, isRetry: false)] != nil
        if let lease, !job.kind.takesTurns, !isHeld, !isStopped, hasLease(lease),
            isCurrent(connection, of: lease, referee: referee)
        {
            var order = Order(
                lease: lease,
                most: 1,
                window: window,
                wanted: job.total,
                wantedSingle: job.total,
                retryRoom: 0
            )
            jobs[id].next = job.total
            let epoch = nextEpoch(nowMs)
            openTaken(id, &order, epoch: epoch)
            let permits = governor.lend(returned: 0, single: job.total, fanout: 0, nowMs: nowMs)
            return .taken(order.claims[0], permits: permits)
        }
        if isHeld {
            Self.insert(Due(ms: job.notBeforeMs, job: id, index: 0), into: &scheduled)
        } else {
            enqueue(id)
        }
        return .queued
    }

    private mutating func openTaken(_ id: Int, _ order: inout Order, epoch: UInt64) {
        let count = jobs[id].total
        openBatch(
            BatchName(job: id, part: 0, isRetry: false),
            indexes: Array(0..<count),
            histories: Array(repeating: RecipientHistory(), count: count),
            &order,
            epoch: epoch
        )
    }

    /// Ends the first pass of a batch once its last send has begun; answers need no slot.
    private mutating func pass(_ name: BatchName, referee: Referee) {
        guard !name.isRetry, batches[name]?.isSent == false else { return }
        batches[name]?.isSent = true
        jobs[name.job].passed += 1
        guard jobs[name.job].passed * batchSize >= jobs[name.job].total else { return }
        guard jobs[name.job].kind == .fanout, slot.isActive(name.job) else { return }
        slot.release(name.job)
        // A job that waits for its guards takes over later.
        referee.passed(name.job, isAnotherWaiting: slot.waiting.contains { jobs[$0.job].guards == nil })
    }

    /// Drops a batch of a job that Redis no longer has.
    private mutating func forget(_ request: RecordRequest) {
        batches[request.name] = nil
        _ = removeClaim(request.name, of: request.lease)
        groupsOn.remove(request.name)
        // After a rollback to before the job's intake.
        if request.call.late, !jobs[request.name.job].isOver { rolledBack[request.name] = batchSize }
    }

    /// Records one flush of one batch: first the results entry, then everything else in one step. With `failsBetween`
    /// an error ends the call between the two. Redis does not roll back, so the first part stays.
    ///
    /// - Returns: nil for the error.
    mutating func record(
        _ request: RecordRequest,
        _ nowMs: Int64,
        failsBetween: Bool = false,
        referee: Referee
    ) -> RecordReply? {
        let (name, call) = (request.name, request.call)
        let id = name.job
        guard jobs[id].isOpen else {
            forget(request)
            return .gone
        }
        let isOwned = !call.late && owns(request, referee: referee)
        if !isOwned, !call.late { return .stale }
        if call.late, !name.isRetry, name.part * batchSize >= jobs[id].next, rolledBack[name] == nil {
            // After a rollback to before the batch's claim.
            rolledBack[name] = 0
        }
        if isOwned {
            let isHeld = claims[request.lease]?.contains(name) == true
            referee.decided(request, batch: batches[name], isHeld: isHeld)
        }
        let isMarkedFirst = referee.breaks(.markBeforeWrite)
        let new = call.results.statuses.filter { jobs[id].done[$0.index] == nil || referee.breaks(.writeTwice) }
        if !isMarkedFirst { writeEntry(new, of: id, isUnmarked: failsBetween, referee: referee) }
        if failsBetween, !isMarkedFirst { return nil }
        let fresh = mark(new, of: id)
        if failsBetween { return nil }
        if isMarkedFirst { writeEntry(new, of: id, isUnmarked: false, referee: referee) }

        let isFirstTime = isOwned && call.number > (batches[name]?.call ?? 0)
        if isFirstTime { batches[name]?.call = call.number }
        if fresh.count > 0, (batches[name]?.tally.crashes ?? 0) > 0 {
            batches[name]?.tally.progressed()
            jobs[id].crashed = [:]
        }
        if jobs[id].kind == .broadcast, fresh.count > 0 {
            slot.hold(id, milliseconds: fresh.mayRun ? jobs[id].holdMs : 0, nowMs: nowMs)
        }
        if isOwned { handOn(request, nowMs, referee: referee) }
        if isFirstTime, call.holdMs > 0 {
            if !referee.breaks(.ignoreHold) { governor.hold(milliseconds: call.holdMs, nowMs: nowMs) }
            referee.held(milliseconds: call.holdMs)
        }

        let isPassed = call.finish || (call.allSent && !referee.breaks(.keepSlotForAnswers))
        if isOwned, isPassed { pass(name, referee: referee) }
        // The flush that ends a job says nothing else.
        let granted =
            jobs[id].left > 0
            ? applyGuards(request, isOwned: isOwned, isFirstTime: isFirstTime, nowMs, referee: referee) : nil
        if isOwned, call.finish { finish(request, referee: referee) }
        if jobs[id].left == 0 {
            if let owner = batches[name]?.owner { close(name, of: owner) }
            finishJob(id)
        }
        referee.audit(jobs[id])
        return .ok(guarded: granted ?? GuardedReply())
    }

    /// Closes a batch, or opens it again where a rollback lost results.
    private mutating func finish(_ request: RecordRequest, referee: Referee) {
        if isAccountedFor(request.name) || referee.breaks(.closeUnchecked) {
            close(request.name, of: request.lease)
        } else {
            reopen(request.name, of: request.lease, referee: referee)
        }
    }

    /// Whether every recipient of the batch has a result or became a retry. False if a rollback lost results that the
    /// holder had written.
    private func isAccountedFor(_ name: BatchName) -> Bool {
        guard let batch = batches[name] else { return true }
        return batch.indexes.indices.allSatisfy {
            batch.handedOn[$0] || jobs[name.job].done[batch.indexes[$0]] != .none
        }
    }

    private func owns(_ request: RecordRequest, referee: Referee) -> Bool {
        guard let batch = batches[request.name] else { return false }
        if referee.breaks(.acceptOldEpochs) { return true }
        guard batch.epoch == request.epoch else { return false }
        return batch.owner == request.lease || referee.breaks(.compareEpochOnly)
    }

    private mutating func close(_ name: BatchName, of lease: Int) {
        batches[name] = nil
        _ = removeClaim(name, of: lease)
        groupsOn.remove(name)
    }

    private mutating func writeEntry(
        _ results: [(index: Int, status: ResultStatus, maybeDup: Bool)],
        of id: Int,
        isUnmarked: Bool,
        referee: Referee
    ) {
        for result in results {
            jobs[id].written[result.index] += 1
            if isUnmarked { jobs[id].unmarked[result.index] += 1 }
            referee.wrote(jobs[id], result.index)
        }
    }

    /// Marks recipients done and counts them.
    private mutating func mark(_ results: [(index: Int, status: ResultStatus, maybeDup: Bool)], of id: Int) -> (
        count: Int, mayRun: Bool
    ) {
        var count = 0
        var mayRun = false
        for result in results {
            let index = result.index
            if jobs[id].done[index] == .none { count += 1 }
            jobs[id].done[index] = result.status
            jobs[id].isDuplicate[index] = result.maybeDup
            jobs[id].counters[result.status, default: 0] += 1
            if result.status == .sent || result.status == .unknown { mayRun = true }
            if jobs[id].waiting[index] != nil {
                jobs[id].waiting[index] = nil
                retry.removeAll { $0.job == id && $0.index == index }
            }
        }
        jobs[id].left -= count
        return (count, mayRun)
    }

    /// Schedules retries. Only the holder may decide this, and only for recipients without a result.
    private mutating func handOn(_ request: RecordRequest, _ nowMs: Int64, referee: Referee) {
        let id = request.name.job
        // Recipients that become a retry keep their crash count.
        let crashes = referee.breaks(.forgetCrashes) ? 0 : batches[request.name]?.tally.crashes ?? 0
        for item in request.call.retries {
            guard jobs[id].done[item.index] == .none, let batch = batches[request.name],
                let position = batch.indexes.firstIndex(of: item.index), !batch.handedOn[position]
            else { continue }
            batches[request.name]?.handedOn[position] = true
            let history = RecipientHistory(packed: item.packed)
            jobs[id].waiting[item.index] = history
            if crashes > 0 { jobs[id].crashed[item.index] = crashes }
            addRetry(Due(ms: item.dueMs, job: id, index: item.index))
            if jobs[id].kind == .broadcast {
                slot.hold(id, milliseconds: history.maybeDuplicate ? jobs[id].holdMs : 0, nowMs: nowMs)
            }
        }
    }
}
