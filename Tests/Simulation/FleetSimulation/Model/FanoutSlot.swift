/// Whose turn it is among a project's fan-outs: FCM shares a project's fan-out capacity among those that are active, so
/// the fastest way through all of them is one at a time.
///
/// A value without time of its own: what `claim` does in Redis, in one step for the whole fleet, is what ``fill`` does
/// here. Jobs are known by a number that the caller chooses.
struct FanoutSlot: Equatable, Sendable {
    /// A place in the queue: the higher priority first, then the older entry of the job stream.
    struct Turn: Equatable, Comparable, Sendable {
        /// 0 to 9.
        var priority: Int
        /// The stream id's two parts.
        var entryMs: Int64
        var entrySequence: Int64
        var job: Int

        init(priority: Int, entryMs: Int64, entrySequence: Int64, job: Int) {
            self.priority = priority
            self.entryMs = entryMs
            self.entrySequence = entrySequence
            self.job = job
        }

        static func < (left: Turn, right: Turn) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            if left.entryMs != right.entryMs { return left.entryMs < right.entryMs }
            if left.entrySequence != right.entrySequence { return left.entrySequence < right.entrySequence }
            return left.job < right.job
        }
    }

    struct Holder: Equatable, Sendable {
        var turn: Turn
        var epoch: UInt64
        /// Unix milliseconds until which FCM is estimated to be busy with it; nil while it is being sent.
        var untilMs: Int64?
    }

    /// What one look changed, in order.
    struct Changes: Equatable, Sendable {
        var activated: [Holder] = []
        var preempted: [Holder] = []
        /// Jobs whose time inside FCM is over.
        var ended: [Int] = []
    }

    /// The only priority that does not wait for the active fan-out to finish.
    static let urgent = 9

    /// In the order in which they will have their turn.
    private(set) var waiting: [Turn] = []
    private(set) var active: [Holder] = []

    init() {}

    func isActive(_ job: Int) -> Bool { active.contains { $0.turn.job == job } }

    func epoch(of job: Int) -> UInt64? { active.first { $0.turn.job == job }?.epoch }

    /// Joins the queue, where its priority and age put it. Joining twice changes nothing.
    mutating func wait(_ turn: Turn) {
        var low = 0
        var high = waiting.count
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle] < turn { low = middle + 1 } else { high = middle }
        }
        if low < waiting.count, waiting[low] == turn { return }
        waiting.insert(turn, at: low)
    }

    /// Leaves the queue; the turn that it has, if any, stays.
    mutating func stopWaiting(_ job: Int) { waiting.removeAll { $0.job == job } }

    /// Gives the slot up: every first-pass send has begun, or the job was paused, parked or ended. A job that runs
    /// inside FCM keeps it until its time is over.
    mutating func release(_ job: Int) { active.removeAll { $0.turn.job == job && $0.untilMs == nil } }

    /// A topic or condition was sent to, or may have been: FCM is busy with it for `milliseconds`. 0 or less (it was
    /// refused) frees the slot. Without a turn nothing happens.
    mutating func hold(_ job: Int, milliseconds: Int64, nowMs: Int64) {
        guard let at = active.firstIndex(where: { $0.turn.job == job }) else { return }
        if milliseconds <= 0 { active.remove(at: at) } else { active[at].untilMs = nowMs + milliseconds }
    }

    /// Frees what FCM has finished, preempts for an urgent fan-out, and fills what is free.
    ///
    /// - Parameters:
    ///   - limit: how many may be active, normally 1.
    ///   - isQuiet: no fan-out may begin now (the busy minutes of the hour); what is active goes on.
    ///   - canRun: the job may be sent and has something of its first pass left that no worker holds. One that cannot
    ///     leaves the queue, and joins it again when that changes.
    ///   - nextEpoch: a number greater than every one before.
    mutating func fill(
        nowMs: Int64,
        limit: Int,
        isQuiet: Bool = false,
        canRun: (Int) -> Bool,
        nextEpoch: () -> UInt64
    ) -> Changes {
        var changes = Changes()
        for holder in active {
            if let until = holder.untilMs, until <= nowMs { changes.ended.append(holder.turn.job) }
        }
        for job in changes.ended {
            guard let at = active.firstIndex(where: { $0.turn.job == job }) else { continue }
            let ended = active.remove(at: at)
            // Its send has to be made again, and nobody has come for it in time.
            if canRun(job) { wait(ended.turn) }
        }
        while let head = waiting.first {
            guard canRun(head.job) else {
                waiting.removeFirst()
                continue
            }
            if isQuiet { break }
            if active.count >= limit {
                guard head.priority >= Self.urgent,
                    // One that runs inside FCM cannot be called back.
                    let victim = active.lastIndex(where: { $0.untilMs == nil && $0.turn.priority < Self.urgent })
                else { break }
                let preempted = active.remove(at: victim)
                changes.preempted.append(preempted)
                if canRun(preempted.turn.job) { wait(preempted.turn) }
            }
            waiting.removeAll { $0 == head }
            let holder = Holder(turn: head, epoch: nextEpoch())
            active.removeAll { $0.turn.job == head.job }
            active.append(holder)
            changes.activated.append(holder)
        }
        return changes
    }
}
