/// Who is alive, and what becomes of what the dead held.
extension ProjectState {
    mutating func register(_ lease: Int, referee: Referee) {
        renewedAt[lease] = referee.now
        if let at = leases.firstIndex(where: { $0.lease == lease }) {
            leases[at].counter += 1
        } else {
            leases.append((lease, 1))
        }
    }

    /// False: declared dead meanwhile.
    mutating func renew(_ lease: Int, referee: Referee) -> Bool {
        guard let at = leases.firstIndex(where: { $0.lease == lease }) else { return false }
        leases[at].counter += 1
        renewedAt[lease] = referee.now
        return true
    }

    /// A batch without a holder: back to where the next one is taken from.
    mutating func orphan(_ name: BatchName, referee: Referee) {
        guard jobs[name.job].isOpen, let batch = batches[name] else {
            batches[name] = nil
            groupsOn.remove(name)
            return
        }
        let job = jobs[name.job]
        let takesTurns =
            referee.breaks(.aimedWithoutTurn) ? job.kind == .fanout && needsTurn(name, batch) : needsTurn(name, batch)
        if job.isPaused || job.isParked || job.ending != .none {
            jobs[name.job].orphans.append(name)
        } else if batch.tally.isSuspect {
            suspects.append(name)
        } else if takesTurns {
            jobs[name.job].orphans.append(name)
            // It needs its turn, like what was never claimed.
            if !slot.isActive(name.job) { enqueue(name.job) }
        } else {
            orphans.append(name)
        }
    }

    /// Nobody holds it any more: what its last holder still decides is refused, though nobody has taken it over yet.
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
        if alone == lease { alone = nil }
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
                batches[name]?.tally.givenBack()
                orphan(name, referee: referee)
            }
        }
        return names.count
    }

    /// Declares a worker dead whose counter stands where it was seen; -1 when it has moved.
    mutating func bury(_ lease: Int, counter: Int, _ nowMs: Int64, referee: Referee) -> Int {
        guard let seen = leases.first(where: { $0.lease == lease }), seen.counter == counter else { return -1 }
        referee.tally.buried += 1
        return free(lease, isDead: true, nowMs, referee: referee)
    }

    mutating func leave(_ lease: Int, _ nowMs: Int64, referee: Referee) -> Int {
        guard hasLease(lease) else { return 0 }
        return free(lease, isDead: false, nowMs, referee: referee)
    }

    /// What is held in the worker's name and unknown to it was not sent by it, and goes back. What went back in time is
    /// taken from it.
    ///
    /// - Returns: the batches that were taken; nil for a call of an earlier connection.
    mutating func reconcile(_ request: ReconcileRequest, referee: Referee) -> [BatchName]? {
        let lease = request.lease
        guard isCurrent(request.connection, of: lease, referee: referee) else { return nil }
        var taken: [BatchName] = []
        for known in request.known where !referee.breaks(.closeUnchecked) && isForgotten(known, of: lease) {
            taken.append(known.name)
            if let batch = batches[known.name] {
                takeBack(known.name, of: lease, upto: max(batch.upto, known.upto), isKnown: true, referee: referee)
            } else if !known.name.isRetry {
                // Whoever claims it has to hear how far its sends had come.
                rolledBack[known.name] = known.upto
            }
        }
        let names = Set(request.known.map(\.name))
        for name in (claims[lease] ?? []).sorted() where !names.contains(name) {
            // A batch that was taken over may have been sent by the holder before.
            let isUnsent = request.isSameServer && batches[name]?.deliveries == 1
            takeBack(name, of: lease, upto: isUnsent ? 0 : nil, isKnown: false, referee: referee)
        }
        return taken
    }

    private func isForgotten(_ known: ReconcileRequest.Known, of lease: Int) -> Bool {
        if let batch = batches[known.name] { return batch.owner == lease && batch.call < known.call }
        let job = jobs[known.name.job]
        // A first pass that was claimed and is not there was finished, and only the answer was lost.
        return job.isOpen && (known.name.isRetry || known.name.part * batchSize >= job.next)
    }

    /// Takes a batch from a living worker; a nil watermark stays as it is.
    private mutating func takeBack(
        _ name: BatchName,
        of lease: Int,
        upto: Int?,
        isKnown: Bool = false,
        referee: Referee
    ) {
        if let upto { batches[name]?.upto = upto }
        _ = removeClaim(name, of: lease)
        if !isKnown { batches[name]?.tally.givenBack() }
        disown(name, referee: referee)
        orphan(name, referee: referee)
    }

    /// A worker gives one batch back of which nothing is on the wire.
    mutating func release(_ lease: Int, _ name: BatchName, epoch: UInt64, upto: Int?, referee: Referee) {
        guard let batch = batches[name], batch.owner == lease, batch.epoch == epoch,
            claims[lease]?.contains(name) == true
        else { return }
        takeBack(name, of: lease, upto: upto, referee: referee)
    }

    /// Ends a batch of which Redis has forgotten an earlier call. Recipients without a result may have been sent to, so
    /// the next holder hears that all of them were allowed.
    mutating func reopen(_ name: BatchName, of lease: Int, referee: Referee) {
        takeBack(name, of: lease, upto: batches[name]?.indexes.count, referee: referee)
        groupsOn.remove(name)
    }
}
