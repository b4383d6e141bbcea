/// The batches of a project that have something left to send: jobs of one batch before fan-outs, fan-outs by priority.
///
/// A batch is named by its slot in the machine.
struct SendQueue: Sendable {
    /// Which of the queues a batch stands in.
    enum Lane: Sendable {
        /// Jobs of one batch, retries of them included.
        case singles
        /// Jobs without a message: they have a rate of their own and need no permits.
        case managed
        case fanouts
    }

    /// A batch's place in the queue.
    struct Entry: Sendable {
        var isQueued = false
        /// Recipients that it is counted with.
        var count = 0
    }

    private(set) var singles: [Int] = []
    private(set) var managed: [Int] = []
    private(set) var fanouts: [Int] = []
    private var fanoutPriorities: [Int] = []
    /// Recipients that were not sent; kept as sums, because every hand-over asks for them.
    private(set) var unsentSingles = 0
    private(set) var unsentManaged = 0
    private(set) var unsentFanouts = 0

    var isEmpty: Bool { singles.isEmpty && managed.isEmpty && fanouts.isEmpty }
    /// Recipients that need a permit.
    var unsent: Int { unsentSingles + unsentFanouts }
    var slots: [Int] { singles + managed + fanouts }

    /// Appends a batch that is not queued. A fan-out that preempts goes before those of a lower priority.
    mutating func append(_ slot: Int, to lane: Lane, priority: Int) {
        switch lane {
        case .singles: singles.append(slot)
        case .managed: managed.append(slot)
        case .fanouts:
            let at = fanoutPriorities.firstIndex { $0 < priority } ?? fanouts.endIndex
            fanouts.insert(slot, at: at)
            fanoutPriorities.insert(priority, at: at)
        }
    }

    mutating func remove(_ slot: Int, from lane: Lane) {
        switch lane {
        case .singles: singles.removeAll { $0 == slot }
        case .managed: managed.removeAll { $0 == slot }
        case .fanouts:
            guard let at = fanouts.firstIndex(of: slot) else { return }
            fanouts.remove(at: at)
            fanoutPriorities.remove(at: at)
        }
    }

    /// Counts a batch with so many recipients more, or fewer.
    mutating func count(_ change: Int, in lane: Lane) {
        switch lane {
        case .singles: unsentSingles += change
        case .managed: unsentManaged += change
        case .fanouts: unsentFanouts += change
        }
    }

    /// Removes `done` batches that have nothing left to send. Batches are sent in order, so these stand in front as a
    /// rule; only where they do not is every batch looked at.
    ///
    /// - Parameter isDone: whether a batch has nothing left to send.
    mutating func removeDone(_ done: Int, _ isDone: (Int) -> Bool) {
        let removed =
            Self.removeFront(&singles, isDone) + Self.removeFront(&managed, isDone)
            + removeFanouts(isDone, onlyFront: true)
        guard removed < done else { return }
        singles.removeAll(where: isDone)
        managed.removeAll(where: isDone)
        _ = removeFanouts(isDone, onlyFront: false)
    }

    private static func removeFront(_ slots: inout [Int], _ isDone: (Int) -> Bool) -> Int {
        let count = slots.prefix(while: isDone).count
        slots.removeFirst(count)
        return count
    }

    private mutating func removeFanouts(_ isDone: (Int) -> Bool, onlyFront: Bool) -> Int {
        var removed = 0
        var at = 0
        while at < fanouts.count {
            if isDone(fanouts[at]) {
                fanouts.remove(at: at)
                fanoutPriorities.remove(at: at)
                removed += 1
            } else if onlyFront {
                break
            } else {
                at += 1
            }
        }
        return removed
    }
}
