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

    /// What is held in the worker's name and unknown to it, by name and epoch, was not sent by it, and goes back.
    mutating func reconcile(_ lease: Int, connection: Int, known: [BatchName: UInt64], referee: Referee) -> Int {
        guard isCurrent(connection, of: lease, referee: referee) else { return 0 }
        var freed = 0
        for name in (claims[lease] ?? []).sorted() where known[name] != batches[name]?.epoch || known[name] == nil {
            // A batch that was taken over may have been sent by the holder before.
            if batches[name]?.deliveries == 1 { batches[name]?.upto = 0 }
            _ = removeClaim(name, of: lease)
            batches[name]?.tally.givenBack()
            disown(name, referee: referee)
            orphan(name, referee: referee)
            freed += 1
        }
        return freed
    }

    /// A worker gives one batch back of which nothing is on the wire.
    mutating func release(_ lease: Int, _ name: BatchName, epoch: UInt64, referee: Referee) -> Bool {
        guard let batch = batches[name], batch.owner == lease, batch.epoch == epoch, removeClaim(name, of: lease) else {
            return false
        }
        batches[name]?.tally.givenBack()
        disown(name, referee: referee)
        orphan(name, referee: referee)
        return true
    }
}
