internal import FanfareModel

/// The batches that a machine holds, and their jobs, each in a slot of its own. A slot is used again when it is free.
///
/// Functions that every send calls are `mutating`, although they change nothing: any other call copies the table.
struct BatchTable {
    /// By slot. Only the batches in slots in use are read and changed from outside, in place: an accessor would copy the
    /// whole batch at each look. A free slot holds ``HeldBatch/free`` and not nil.
    var held: [HeldBatch] = []
    private var freeSlots: [Int] = []
    /// Batches that are held.
    private(set) var count = 0
    /// By slot, apart from their batches: few have one, and a round is large.
    private var rounds: [Int: GroupRound] = [:]
    private var jobs: [HeldJob] = []
    private var freeJobs: [Int] = []
    private var jobSlots: [String: Int] = [:]

    /// The round over the members of a device group, the only recipient of the batch in a slot; nil without one.
    subscript(roundOf slot: Int) -> GroupRound? {
        get { rounds[slot] }
        _modify { yield &rounds[slot] }
    }

    /// Whether any batch has a round: asked before each send.
    var hasRounds: Bool { !rounds.isEmpty }

    /// Members of the group of the batch in a slot that no request has begun for.
    @inline(__always)
    mutating func roundCount(_ slot: Int) -> Int { rounds.isEmpty ? 0 : rounds[slot]?.unsent.count ?? 0 }

    /// The job in a job slot in use. It is changed in place.
    subscript(job slot: Int) -> HeldJob {
        @inline(__always) _read { yield jobs[slot] }
        @inline(__always) _modify { yield &jobs[slot] }
    }

    /// How the job of the batch in a slot in use ends before its time; nil if it does not.
    @inline(__always)
    mutating func ending(_ slot: Int) -> ResultStatus? { jobs[held[slot].job].ending }

    /// The job of the batch in a slot in use. It is changed in place.
    subscript(jobOf slot: Int) -> HeldJob {
        @inline(__always) _read { yield jobs[held[slot].job] }
        @inline(__always) _modify { yield &jobs[held[slot].job] }
    }

    /// The job of a batch that is prepared.
    @inline(__always)
    mutating func sendJob(_ slot: Int) -> SendJob {
        guard let job = jobs[held[slot].job].job else { preconditionFailure("a prepared batch has its job") }
        return job
    }

    /// The batch in a slot; nil if the slot is free or unknown.
    func batch(_ slot: Int) -> HeldBatch? {
        held.indices.contains(slot) && held[slot].isHeld ? held[slot] : nil
    }

    /// Whether nothing is left: no batch, and no job. A job leaves with its last batch.
    var isEmpty: Bool { count == 0 && freeJobs.count == jobs.count && jobSlots.isEmpty }

    /// All batches that are held.
    var all: some Sequence<HeldBatch> { held.lazy.filter(\.isHeld) }

    /// The slots of the batches that match.
    func slots(where isWanted: (HeldBatch) -> Bool) -> [Int] {
        held.indices.filter { held[$0].isHeld && isWanted(held[$0]) }
    }

    mutating func insert(_ batch: HeldBatch) -> Int {
        count += 1
        jobs[batch.job].batches += 1
        guard let slot = freeSlots.popLast() else {
            held.append(batch)
            return held.count - 1
        }
        held[slot] = batch
        return slot
    }

    /// Removes a batch, and its job with the job's last batch.
    mutating func remove(_ slot: Int) {
        let job = held[slot].job
        held[slot] = .free
        if hasRounds { rounds[slot] = nil }
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
