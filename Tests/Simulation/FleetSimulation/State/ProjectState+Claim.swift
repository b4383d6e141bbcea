internal import FanfareModel
internal import StreamWire

/// The library's `claim`: chooses work for a worker.
extension ProjectState {
    mutating func claim(_ request: ClaimCall, _ nowMs: Int64, referee: Referee) -> ClaimAnswer? {
        guard hasLease(request.lease), isCurrent(request.connection, of: request.lease, referee: referee) else {
            return nil
        }
        startDueJobs(nowMs, referee: referee)
        applyLater(nowMs, referee: referee)
        applyAnswers(request.answers, nowMs, referee: referee)
        let holdMs = governor.holdMs(nowMs: nowMs)
        var order = Order(
            lease: request.lease,
            most: request.most,
            window: request.window,
            wanted: request.wanted,
            wantedSingle: request.wantedSingle,
            retryRoom: request.retries
        )
        let endings = request.endings ?? min(request.most, ClaimCall.usualEndings)
        claimEnding(&order, limit: endings, nowMs, referee: referee)
        if order.most > 0 { order.most += order.claims.count }
        fillSlot(nowMs, referee: referee)
        assignQuarantine(request.lease, request.quarantine)

        let suspect = suspects.first.flatMap { batches[$0]?.tally.mode }
        if holdMs == 0, !isPaused, request.most > 0 {
            if quarantined == request.lease, request.quarantine != ClaimCall.Quarantine.none {
                if request.quarantine != .busy, held(by: request.lease) == 0, let name = suspects.first {
                    suspects.removeFirst()
                    let mode: QuarantineMode = request.quarantine == .shared ? .shared : .exclusive
                    _ = claimOrphan(name, &order, nowMs, quarantine: mode)
                }
            } else {
                claimOrphans(&order, nowMs)
                claimRetries(&order, nowMs, referee: referee)
                claimQueue(\.singles, &order, nowMs, referee: referee)
                claimQueue(\.groups, &order, nowMs, referee: referee)
                if order.hasRoomForSingles { referee.waited(singles: singles.count) }
                claimActive(&order, nowMs, referee: referee)
            }
        }
        if !order.claims.isEmpty { referee.claimed(order.claims, of: self) }

        let isQuarantining = quarantined == request.lease && request.quarantine != ClaimCall.Quarantine.none
        let isStopped = isPaused || (isQuarantining && held(by: request.lease) == 0)
        let permits = lend(request, isStopped: isStopped, nowMs, referee: referee)
        let fresh = newsAfter(NewsID(request.newsCursor), referee: referee)
        let due = min(retry.first?.ms ?? .max, scheduled.first?.ms ?? .max, later.values.min() ?? .max)
        return ClaimAnswer(
            nowMs: nowMs,
            holdMs: holdMs,
            nextDueMs: due == .max ? 0 : due,
            permits: permits,
            isPaused: isPaused,
            suspect: holdMs == 0 && !isPaused && quarantined == request.lease ? suspect : nil,
            unfinished: openCount + entries.count,
            cursor: fresh.last?.id ?? min(NewsID(request.newsCursor), lastNews),
            news: fresh,
            claims: order.claims
        )
    }

    /// The remaining limits of one claim, and the batches given so far.
    struct Order {
        let lease: Int
        var most: Int
        let window: Int
        var wanted: Int
        var wantedSingle: Int
        var retryRoom: Int
        var claims: [Given] = []

        var hasRoom: Bool { claims.count < most && wanted + wantedSingle > 0 }
        var hasRoomForSingles: Bool { claims.count < most && wantedSingle > 0 }
        var hasRoomForFanouts: Bool { claims.count < most && wanted > 0 }
    }

    private mutating func startDueJobs(_ nowMs: Int64, referee: Referee) {
        while let first = expiring.first, first.ms <= nowMs {
            expiring.removeFirst()
            end(first.job, .expired, nowMs, referee: referee)
        }
        while let first = scheduled.first, first.ms <= nowMs {
            scheduled.removeFirst()
            let job = jobs[first.job]
            if job.isOpen, !job.isParked, !job.isPaused, job.ending == .none { enqueue(first.job) }
        }
    }

    private mutating func fillSlot(_ nowMs: Int64, referee: Referee) {
        guard !slot.waiting.isEmpty || !slot.active.isEmpty else { return }
        yieldSlots(nowMs, referee: referee)
        let jobs = jobs
        let before = self
        var epoch = epoch
        var deferred: [(job: Int, Deferral)] = []
        if referee.breaks(.newestFirst), slot.active.isEmpty, slot.waiting.count > 1, let last = slot.waiting.last {
            // Removes the other jobs for a moment, so that the newest is first.
            let others = slot.waiting.dropLast()
            for turn in others { slot.stopWaiting(turn.job) }
            _ = slot.fill(nowMs: nowMs, limit: 1, canRun: { _ in true }, nextEpoch: { epoch + 1 })
            for turn in others { slot.wait(turn) }
            referee.activated(slot.active.last { $0.turn == last }, of: self)
            return
        }
        let changes = slot.fill(
            nowMs: nowMs,
            limit: activeLimit + (referee.breaks(.activateOneMore) ? 1 : 0),
            canRun: { Self.canRun(jobs[$0]) },
            mayBegin: {
                let found = before.deferral(of: jobs[$0], isActive: false, isQueueEmpty: false, nowMs)
                if let found { deferred.append(($0, found)) }
                return found == nil
            },
            nextEpoch: {
                epoch = max(epoch + 1, UInt64(nowMs))
                return epoch
            }
        )
        self.epoch = epoch
        for (job, deferral) in deferred { postpone(job, deferral) }
        for holder in changes.activated { referee.activated(holder, of: self) }
        referee.tally.preemptions += changes.preempted.count
    }

    // MARK: Kinds of work

    mutating func openBatch(
        _ name: BatchName,
        indexes: [Int],
        histories: [RecipientHistory],
        watermark: Int? = nil,
        grantedAt: Int? = nil,
        _ order: inout Order,
        epoch: UInt64
    ) {
        let watermark = watermark ?? order.window
        batches[name] = BatchRecord(
            owner: order.lease,
            epoch: epoch,
            watermark: watermark,
            indexes: indexes,
            handedOn: Array(repeating: false, count: indexes.count)
        )
        batches[name]?.grants = grantedAt.map { [(watermark, $0)] } ?? []
        addClaim(name, of: order.lease)
        if jobs[name.job].kind == .group { groupsOn.insert(name) }
        order.claims.append(
            Given(
                name: name,
                epoch: epoch,
                watermark: watermark,
                deliveries: 1,
                ending: jobs[name.job].ending,
                isQuarantined: false,
                indexes: indexes,
                fates: Array(repeating: .unsent, count: indexes.count),
                histories: histories
            )
        )
    }

    /// Gives the job's next first-pass batch. Returns its number of recipients; nil if no batch is left.
    mutating func claimFirstPass(_ id: Int, _ order: inout Order, _ nowMs: Int64, referee: Referee) -> Int? {
        let from = jobs[id].next
        guard from < jobs[id].total else { return nil }
        let count = min(batchSize, jobs[id].total - from)
        let most = firstWatermark(id, from: from, count: count, window: order.window, nowMs, referee: referee)
        guard let most else { return nil }
        jobs[id].next = from + count
        let name = BatchName(job: id, part: from / batchSize, isRetry: false)
        if let watermark = rolledBack.removeValue(forKey: name) {
            // After a rollback: the batch had been claimed, and recipients below its watermark may have been sent to.
            batches[name] = BatchRecord(
                owner: 0,
                epoch: 0,
                watermark: watermark,
                indexes: Array(from..<from + count),
                handedOn: Array(repeating: false, count: count)
            )
            return claimOrphan(name, &order, nowMs)
        }
        openBatch(
            name,
            indexes: Array(from..<from + count),
            histories: Array(repeating: RecipientHistory(), count: count),
            watermark: most,
            grantedAt: referee.now,
            &order,
            epoch: nextEpoch(nowMs)
        )
        return count
    }

    mutating func claimOrphan(
        _ name: BatchName,
        _ order: inout Order,
        _ nowMs: Int64,
        quarantine: QuarantineMode? = nil
    ) -> Int? {
        guard let batch = batches[name] else { return nil }
        let job = jobs[name.job]
        guard job.isOpen else {
            batches[name] = nil
            return nil
        }
        if job.isParked || job.isPaused {
            jobs[name.job].orphans.append(name)
            return nil
        }
        var fates: [Fate] = []
        var histories: [RecipientHistory] = []
        for (position, index) in batch.indexes.enumerated() {
            histories.append((name.isRetry ? job.waiting[index] : nil) ?? RecipientHistory())
            if batch.handedOn[position] || job.done[index] != .none {
                fates.append(.finished)
            } else {
                fates.append(position < batch.watermark ? .maybeSent : .unsent)
            }
        }
        let epoch = nextEpoch(nowMs)
        // The new holder numbers its calls from 1.
        batches[name]?.call = 0
        batches[name]?.owner = order.lease
        batches[name]?.epoch = epoch
        batches[name]?.tally.taken(isAlone: quarantine == .exclusive)
        batches[name]?.deliveries += 1
        addClaim(name, of: order.lease)
        order.claims.append(
            Given(
                name: name,
                epoch: epoch,
                watermark: batch.watermark,
                deliveries: batch.deliveries + 1,
                ending: job.ending,
                isQuarantined: quarantine != nil,
                crashes: batch.tally.crashes,
                indexes: batch.indexes,
                fates: fates,
                histories: histories
            )
        )
        return batch.indexes.count
    }

    mutating func openRetry(_ id: Int, _ indexes: [Int], _ order: inout Order, _ nowMs: Int64) {
        let epoch = nextEpoch(nowMs)
        let name = BatchName(job: id, part: Int(epoch), isRetry: true)
        let histories = indexes.map { jobs[id].waiting[$0] ?? RecipientHistory() }
        let watermark = jobs[id].ending == .none ? nil : 0
        openBatch(name, indexes: indexes, histories: histories, watermark: watermark, &order, epoch: epoch)
        guard !jobs[id].crashed.isEmpty else { return }
        batches[name]?.tally = CrashTally(crashes: indexes.reduce(0) { max($0, jobs[id].crashed[$1] ?? 0) })
    }

    /// Queues the last given batch for quarantine if its recipients make it a suspect.
    private mutating func setAsideSuspect(_ order: inout Order) {
        guard let name = order.claims.last?.name, batches[name]?.tally.isSuspect == true else { return }
        order.claims.removeLast()
        _ = removeClaim(name, of: order.lease)
        batches[name]?.watermark = 0
        suspects.append(name)
    }

    private mutating func claimOrphans(_ order: inout Order, _ nowMs: Int64) {
        var looked = 0
        while order.hasRoom, looked < 100, !orphans.isEmpty {
            looked += 1
            order.wanted -= claimOrphan(orphans.removeFirst(), &order, nowMs) ?? 0
        }
    }

    /// Classes of retries by their cost: recipients never sent to, retries of single-batch jobs, retries of fan-outs.
    /// They are claimed separately, so that retries beyond the budget do not block others.
    private enum Cost: CaseIterable { case free, single, fanout }

    private func cost(_ due: Due) -> Cost {
        let job = jobs[due.job]
        if job.kind == .broadcast || job.waiting[due.index]?.attempts == 0 { return .free }
        return job.kind == .fanout ? .fanout : .single
    }

    private mutating func claimRetries(_ order: inout Order, _ nowMs: Int64, referee: Referee) {
        guard let first = retry.first, first.ms <= nowMs else { return }
        for cost in Cost.allCases {
            let wanted = cost == .fanout ? order.wanted : order.wantedSingle
            let limit = min(batchSize, wanted, cost == .free ? .max : order.retryRoom)
            guard order.claims.count < order.most, limit > 0 else { continue }
            let given = claimRetries(cost, limit: limit, &order, nowMs)
            if cost == .fanout { order.wanted -= given } else { order.wantedSingle -= given }
            if cost != .free { order.retryRoom -= given }
        }
    }

    private mutating func claimRetries(_ cost: Cost, limit: Int, _ order: inout Order, _ nowMs: Int64) -> Int {
        var given: [(job: Int, indexes: [Int])] = []
        let due = retry.prefix { $0.ms <= nowMs }.filter { self.cost($0) == cost }
        for due in due.prefix(limit) {
            let job = jobs[due.job]
            if !job.isOpen || job.waiting[due.index] == nil {
                retry.removeAll { $0 == due }
            } else if job.isPaused || job.isParked {
                retry.removeAll { $0 == due }
                jobs[due.job].held.append(due)
            } else if job.kind == .broadcast, job.ending == .none {
                // The repeated send starts a fan-out again, so it needs a turn.
                retry.removeAll { $0 == due }
                jobs[due.job].again = true
                enqueue(due.job)
            } else if job.kind == .group, !given.contains(where: { $0.job == due.job }),
                groupsOn.count + given.count >= Self.maximumGroups
            {
                addRetry(Due(ms: nowMs + 250, job: due.job, index: due.index))
            } else {
                var at = given.firstIndex { $0.job == due.job }
                if at == nil, given.count < order.most - order.claims.count {
                    at = given.count
                    given.append((due.job, []))
                }
                guard let at else { continue }
                retry.removeAll { $0 == due }
                given[at].indexes.append(due.index)
            }
        }
        for (job, indexes) in given {
            openRetry(job, indexes, &order, nowMs)
            setAsideSuspect(&order)
        }
        return given.reduce(0) { $0 + $1.indexes.count }
    }

    private mutating func claimQueue(
        _ queue: WritableKeyPath<ProjectState, [FanoutSlot.Turn]>,
        _ order: inout Order,
        _ nowMs: Int64,
        referee: Referee
    ) {
        if referee.breaks(.singlesLast), !slot.active.isEmpty { return }
        while order.hasRoomForSingles, let head = self[keyPath: queue].first {
            if queue == \.groups, groupsOn.count >= Self.maximumGroups { return }
            self[keyPath: queue].removeFirst()
            let job = jobs[head.job]
            guard job.isOpen, !job.isPaused, !job.isParked, job.ending == .none else { continue }
            order.wantedSingle -= claimFirstPass(head.job, &order, nowMs, referee: referee) ?? 0
        }
    }

    private mutating func claimActive(_ order: inout Order, _ nowMs: Int64, referee: Referee) {
        for holder in slot.active {
            let id = holder.turn.job
            while order.hasRoomForFanouts {
                let job = jobs[id]
                guard job.isOpen, !job.isPaused, !job.isParked, job.ending == .none else { break }
                if !job.orphans.isEmpty {
                    order.wanted -= claimOrphan(jobs[id].orphans.removeFirst(), &order, nowMs) ?? 0
                } else if job.again {
                    jobs[id].again = false
                    guard job.waiting[0] != nil else { break }
                    openRetry(id, [0], &order, nowMs)
                    if !referee.breaks(.runBroadcastSuspects) { setAsideSuspect(&order) }
                    order.wanted -= 1
                } else {
                    guard let count = claimFirstPass(id, &order, nowMs, referee: referee) else { break }
                    order.wanted -= count
                }
            }
        }
    }
}
