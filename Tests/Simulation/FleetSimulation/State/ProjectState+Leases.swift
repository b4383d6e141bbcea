internal import StreamWire

/// Leases of workers, and the batches of dead workers.
extension ProjectState {
    mutating func register(_ lease: Int, referee: Referee) {
        renewedAt[lease] = referee.now
        if let at = leases.firstIndex(where: { $0.lease == lease }) {
            leases[at].counter += 1
        } else {
            leases.append((lease, 1))
        }
    }

    /// Renews a lease; returns false if the worker was declared dead.
    mutating func renew(_ lease: Int, referee: Referee) -> Bool {
        guard let at = leases.firstIndex(where: { $0.lease == lease }) else { return false }
        leases[at].counter += 1
        renewedAt[lease] = referee.now
        return true
    }

    /// Puts a batch without a holder back into the list from which it is claimed.
    mutating func orphan(_ name: BatchName, referee: Referee) {
        guard jobs[name.job].isOpen, let batch = batches[name] else {
            batches[name] = nil
            groupsOn.remove(name)
            return
        }
        let job = jobs[name.job]
        let takesTurns =
            referee.breaks(.broadcastWithoutTurn)
            ? job.kind == .fanout && needsTurn(name, batch) : needsTurn(name, batch)
        let isBehindCanary = !name.isRetry && !batch.isSent && (job.guards.map { $0.hold != .none } ?? false)
        if job.isPaused || job.isParked || job.ending != .none || isBehindCanary {
            jobs[name.job].orphans.append(name)
        } else if batch.tally.isSuspect {
            suspects.append(name)
        } else if takesTurns {
            jobs[name.job].orphans.append(name)
            // The batch needs a turn, like one that was never claimed.
            if !slot.isActive(name.job) { enqueue(name.job) }
        } else {
            orphans.append(name)
        }
    }

    /// Removes the batch's owner, so that later decisions of the last holder are refused.
    private mutating func disown(_ name: BatchName, referee: Referee) {
        guard !referee.breaks(.keepDeadOwners) else { return }
        batches[name]?.owner = 0
        batches[name]?.epoch = 0
    }

    private mutating func crashed(_ name: BatchName, _ nowMs: Int64, referee: Referee) {
        guard jobs[name.job].isOpen, batches[name] != nil else { return orphan(name, referee: referee) }
        if batches[name]?.tally.workerDied() == .park {
            jobs[name.job].crashed = [:]
            park(name.job, nowMs, referee: referee)
        }
        orphan(name, referee: referee)
    }

    private mutating func free(_ lease: Int, isDead: Bool, _ nowMs: Int64, referee: Referee) -> Int {
        leases.removeAll { $0.lease == lease }
        if quarantined == lease { quarantined = nil }
        connections[lease] = nil
        renewedAt[lease] = nil
        let names = (claims[lease] ?? []).sorted()
        claims[lease] = nil
        if referee.breaks(.loseOrphans) { return names.count }
        for name in names {
            disown(name, referee: referee)
            if isDead {
                crashed(name, nowMs, referee: referee)
            } else {
                batches[name]?.tally.released()
                orphan(name, referee: referee)
            }
        }
        return names.count
    }

    /// Declares a worker dead if its lease counter is still `counter`.
    ///
    /// - Returns: the number of freed batches; -1 if the counter has changed.
    mutating func declareDead(_ lease: Int, counter: Int, _ nowMs: Int64, referee: Referee) -> Int {
        guard let seen = leases.first(where: { $0.lease == lease }), seen.counter == counter else { return -1 }
        referee.tally.declaredDead += 1
        return free(lease, isDead: true, nowMs, referee: referee)
    }

    mutating func deregister(_ lease: Int, _ nowMs: Int64, referee: Referee) -> Int {
        guard hasLease(lease) else { return 0 }
        return free(lease, isDead: false, nowMs, referee: referee)
    }

    /// Compares a worker's batches with the state. Batches unknown to the worker were not sent by it and become
    /// orphans. Batches whose later calls Redis lost are taken from the worker.
    ///
    /// - Returns: the batches that were taken; nil for a call of an earlier connection.
    mutating func reconcile(
        _ lease: Int,
        _ connection: Int,
        isSameServer: Bool,
        _ all: [FunctionLibrary.KnownBatch],
        referee: Referee
    ) -> [BatchName]? {
        guard isCurrent(connection, of: lease, referee: referee) else { return nil }
        var taken: [BatchName] = []
        var names: Set<BatchName> = []
        for known in all {
            guard let name = BatchName(known.name) else { continue }
            names.insert(name)
            guard !referee.breaks(.closeUnchecked), isForgotten(name, call: known.call, of: lease) else { continue }
            taken.append(name)
            if let batch = batches[name] {
                takeBack(
                    name,
                    of: lease,
                    watermark: max(batch.watermark, known.watermark),
                    isKnown: true,
                    referee: referee
                )
            } else if !name.isRetry {
                // The next holder needs the watermark.
                rolledBack[name] = known.watermark
            }
        }
        for name in (claims[lease] ?? []).sorted() where !names.contains(name) {
            // The previous holder of a batch that was taken over may have sent to its recipients.
            let isUnsent = isSameServer && batches[name]?.deliveries == 1
            takeBack(name, of: lease, watermark: isUnsent ? 0 : nil, isKnown: false, referee: referee)
        }
        return taken
    }

    private func isForgotten(_ name: BatchName, call: Int, of lease: Int) -> Bool {
        if let batch = batches[name] { return batch.owner == lease && batch.call < call }
        let job = jobs[name.job]
        // A claimed first-pass batch that no longer exists was finished; only the answer was lost.
        return job.isOpen && (name.isRetry || name.part * batchSize >= job.next)
    }

    /// Takes a batch from a live worker. A nil watermark leaves the stored one unchanged.
    private mutating func takeBack(
        _ name: BatchName,
        of lease: Int,
        watermark: Int?,
        isKnown: Bool = false,
        referee: Referee
    ) {
        if let watermark { batches[name]?.watermark = watermark }
        _ = removeClaim(name, of: lease)
        if !isKnown { batches[name]?.tally.released() }
        disown(name, referee: referee)
        orphan(name, referee: referee)
    }

    /// Releases a batch without sends in flight.
    mutating func release(_ lease: Int, _ name: BatchName, epoch: UInt64, watermark: Int?, referee: Referee) {
        guard let batch = batches[name], batch.owner == lease, batch.epoch == epoch,
            claims[lease]?.contains(name) == true
        else { return }
        takeBack(name, of: lease, watermark: watermark, referee: referee)
    }

    /// Reopens a batch after Redis lost one of its earlier calls. Recipients without a result may have been sent to, so
    /// the watermark covers the whole batch.
    mutating func reopen(_ name: BatchName, of lease: Int, referee: Referee) {
        takeBack(name, of: lease, watermark: batches[name]?.indexes.count, referee: referee)
        groupsOn.remove(name)
    }
}
