internal import StreamWire

/// The batches of a project that have something left to send: jobs of one batch before fan-outs, fan-outs by priority.
struct SendQueue {
    /// Jobs of one batch, retries of them included.
    private(set) var singles: [ActiveBatch] = []
    /// Jobs without a message: they have a rate of their own, and stand in nobody's way.
    private(set) var managed: [ActiveBatch] = []
    private(set) var fanouts: [ActiveBatch] = []
    /// Recipients at hand that have not been sent; kept as sums, because they are asked for with every job.
    private(set) var unsentSingles = 0
    private(set) var unsentManaged = 0
    private(set) var unsentFanouts = 0

    var isEmpty: Bool { singles.isEmpty && managed.isEmpty && fanouts.isEmpty }
    /// Recipients that need a permit.
    var unsent: Int { unsentSingles + unsentFanouts }
    var batches: [ActiveBatch] { singles + managed + fanouts }

    /// Puts a batch in, or counts it anew when it is there and has something to send again.
    mutating func add(_ batch: ActiveBatch) {
        if !batch.isQueued {
            batch.isQueued = true
            if batch.job.isFanout {
                // A fan-out that preempts goes before what is at hand of the one that it preempts.
                let at = fanouts.firstIndex { $0.job.spec.priority < batch.job.spec.priority } ?? fanouts.endIndex
                fanouts.insert(batch, at: at)
            } else if batch.job.isManagement {
                managed.append(batch)
            } else {
                singles.append(batch)
            }
        }
        recount(batch)
    }

    mutating func recount(_ batch: ActiveBatch) {
        let change = (batch.isQueued ? batch.unsentCount : 0) - batch.queuedCount
        batch.queuedCount += change
        if batch.job.isFanout {
            unsentFanouts += change
        } else if batch.job.isManagement {
            unsentManaged += change
        } else {
            unsentSingles += change
        }
    }

    mutating func remove(_ batch: ActiveBatch) {
        guard batch.isQueued else { return }
        batch.isQueued = false
        recount(batch)
        if batch.job.isFanout {
            fanouts.removeAll { $0 === batch }
        } else if batch.job.isManagement {
            managed.removeAll { $0 === batch }
        } else {
            singles.removeAll { $0 === batch }
        }
    }

    /// Takes out what has nothing left to send. Batches are sent in order, so it stands in front, as a rule; only where
    /// that is not so are all looked at.
    ///
    /// - Returns: whether there was any.
    mutating func sweep(done: Int) -> Bool {
        guard done > 0 else { return false }
        let removed = Self.dropDone(&singles) + Self.dropDone(&managed) + Self.dropDone(&fanouts)
        if removed < done {
            singles.removeAll(where: Self.leaves)
            managed.removeAll(where: Self.leaves)
            fanouts.removeAll(where: Self.leaves)
        }
        return true
    }

    private static func dropDone(_ batches: inout [ActiveBatch]) -> Int {
        let count = batches.prefix(while: leaves).count
        batches.removeFirst(count)
        return count
    }

    /// True for a batch that is done, which is marked as such.
    private static func leaves(_ batch: ActiveBatch) -> Bool {
        guard batch.unsentCount == 0 else { return false }
        batch.isQueued = false
        return true
    }
}
