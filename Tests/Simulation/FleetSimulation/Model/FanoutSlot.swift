/// The slot and queue of a project's fan-outs. FCM shares a project's fan-out capacity among active fan-outs, so one at
/// a time is fastest on average.
///
/// A value without a clock. ``fill`` does here what `claim` does in Redis, in one step for the whole fleet. The caller
/// numbers the jobs.
struct FanoutSlot: Equatable, Sendable {
    /// A position in the queue, ordered by priority (high first) and then by the age of the job's stream entry.
    struct Turn: Equatable, Comparable, Sendable {
        /// 0 to 9.
        var priority: Int
        /// The two parts of the stream entry's id.
        var entryMs: Int64
        var entrySequence: Int64
        var job: Int

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
        /// Estimated end of FCM's fan-out in Unix milliseconds; nil while the job is being sent.
        var untilMs: Int64?
    }

    /// The changes of one ``fill``, in order.
    struct Changes: Equatable, Sendable {
        var activated: [Holder] = []
        var preempted: [Holder] = []
        /// Jobs whose fan-out in FCM has ended.
        var ended: [Int] = []
    }

    /// The priority that preempts the active fan-out.
    static let urgent = 9

    /// The queue, in the order of turns.
    private(set) var waiting: [Turn] = []
    private(set) var active: [Holder] = []

    func isActive(_ job: Int) -> Bool { active.contains { $0.turn.job == job } }

    /// Adds a job to the queue, ordered by priority and age. Idempotent.
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

    /// Removes a job from the queue. If the job is active, it stays active.
    mutating func stopWaiting(_ job: Int) { waiting.removeAll { $0.job == job } }

    /// Frees the slot of a job: all its first-pass sends have begun, or the job was paused, parked or ended. A job
    /// whose fan-out runs in FCM keeps the slot until its estimated end.
    mutating func release(_ job: Int) { active.removeAll { $0.turn.job == job && $0.untilMs == nil } }

    /// Keeps the slot for `milliseconds` after a send to a topic or condition, during which FCM fans out. 0 or less
    /// (FCM refused the send) frees the slot. Has no effect on a job that is not active.
    mutating func hold(_ job: Int, milliseconds: Int64, nowMs: Int64) {
        guard let at = active.firstIndex(where: { $0.turn.job == job }) else { return }
        if milliseconds <= 0 { active.remove(at: at) } else { active[at].untilMs = nowMs + milliseconds }
    }

    /// Frees the slots of ended fan-outs, preempts for an urgent one, and activates waiting fan-outs.
    ///
    /// - Parameters:
    ///   - limit: how many may be active, normally 1.
    ///   - canRun: whether the job may be sent and has first-pass work that no worker holds. A job that cannot run is
    ///     removed from the queue and has to be added again.
    ///   - mayBegin: whether the guards of a job that can run let it begin a send now; otherwise it leaves the queue.
    ///   - nextEpoch: returns a number greater than all earlier ones.
    mutating func fill(
        nowMs: Int64,
        limit: Int,
        canRun: (Int) -> Bool,
        mayBegin: (Int) -> Bool = { _ in true },
        nextEpoch: () -> UInt64
    ) -> Changes {
        var changes = Changes()
        for holder in active {
            if let until = holder.untilMs, until <= nowMs { changes.ended.append(holder.turn.job) }
        }
        for job in changes.ended {
            guard let at = active.firstIndex(where: { $0.turn.job == job }) else { continue }
            let ended = active.remove(at: at)
            // Its send must be repeated, and no worker claimed it in time.
            if canRun(job) { wait(ended.turn) }
        }
        while let head = waiting.first {
            guard canRun(head.job), mayBegin(head.job) else {
                waiting.removeFirst()
                continue
            }
            if active.count >= limit {
                guard head.priority >= Self.urgent,
                    // A fan-out that runs in FCM cannot be preempted.
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
