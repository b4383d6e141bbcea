/// The batches that a machine holds, and their jobs, each in a slot of its own. A slot is used again when it is free.
///
/// Functions that every send calls are `mutating`, although they change nothing: any other call copies the table.
struct BatchTable {
    /// They are changed in place, so a free slot holds ``HeldBatch/free`` and not nil.
    private var batches: [HeldBatch] = []
    private var freeSlots: [Int] = []
    /// Batches that are held.
    private(set) var count = 0
    /// By slot, apart from their batches: few have one, and a round is large.
    private var rounds: [Int: GroupRound] = [:]
    private var jobs: [HeldJob] = []
    private var freeJobs: [Int] = []
    private var jobSlots: [String: Int] = [:]

    /// The batch in a slot in use. It is changed in place.
    subscript(slot: Int) -> HeldBatch {
        @inline(__always) _read { yield batches[slot] }
        @inline(__always) _modify { yield &batches[slot] }
    }

    /// The round over the members of a device group, the only recipient of the batch in a slot; nil without one.
    subscript(roundOf slot: Int) -> GroupRound? {
        @inline(__always) _read { yield rounds.isEmpty ? nil : rounds[slot] }
        _modify { yield &rounds[slot] }
    }

    /// The job in a job slot in use. It is changed in place.
    subscript(job slot: Int) -> HeldJob {
        @inline(__always) _read { yield jobs[slot] }
        @inline(__always) _modify { yield &jobs[slot] }
    }

    /// The job of the batch in a slot in use. It is changed in place.
    subscript(jobOf slot: Int) -> HeldJob {
        @inline(__always) _read { yield jobs[batches[slot].job] }
        @inline(__always) _modify { yield &jobs[batches[slot].job] }
    }

    /// The job of a batch that is prepared.
    @inline(__always)
    mutating func sendJob(_ slot: Int) -> SendJob {
        guard let job = jobs[batches[slot].job].job else { preconditionFailure("a prepared batch has its job") }
        return job
    }

    /// The batch in a slot; nil if the slot is free or unknown.
    func held(_ slot: Int) -> HeldBatch? {
        batches.indices.contains(slot) && batches[slot].isHeld ? batches[slot] : nil
    }

    /// Whether nothing is left: no batch, and no job. A job leaves with its last batch.
    var isEmpty: Bool { count == 0 && freeJobs.count == jobs.count && jobSlots.isEmpty }

    /// All batches that are held.
    var all: some Sequence<HeldBatch> { batches.lazy.filter(\.isHeld) }

    /// The slots of the batches that match.
    func slots(where isWanted: (HeldBatch) -> Bool) -> [Int] {
        batches.indices.filter { batches[$0].isHeld && isWanted(batches[$0]) }
    }

    mutating func insert(_ batch: HeldBatch) -> Int {
        count += 1
        jobs[batch.job].batches += 1
        guard let slot = freeSlots.popLast() else {
            batches.append(batch)
            return batches.count - 1
        }
        batches[slot] = batch
        return slot
    }

    /// Removes a batch, and its job with the job's last batch.
    mutating func remove(_ slot: Int) {
        let job = batches[slot].job
        batches[slot] = .free
        rounds[slot] = nil
        freeSlots.append(slot)
        count -= 1
        jobs[job].batches -= 1
        guard jobs[job].batches == 0 else { return }
        if jobSlots[jobs[job].id] == job { jobSlots[jobs[job].id] = nil }
        jobs[job] = HeldJob(id: "")
        freeJobs.append(job)
    }

    /// The slot of the newest job with this id; nil if no batch of it is held.
    func jobSlot(_ id: String) -> Int? { jobSlots[id] }

    /// The slot of a job, which is made if there is none.
    mutating func openJob(_ id: String, born: String) -> Int {
        if let slot = jobSlots[id], jobs[slot].born == born { return slot }
        return openNewJob(id, born: born)
    }

    /// A new slot for a job. An earlier job of the same id keeps its own until its batches are removed.
    mutating func openNewJob(_ id: String, born: String = "") -> Int {
        let job = HeldJob(id: id, born: born)
        let slot = freeJobs.popLast() ?? jobs.count
        if slot == jobs.count { jobs.append(job) } else { jobs[slot] = job }
        jobSlots[id] = slot
        return slot
    }
}
