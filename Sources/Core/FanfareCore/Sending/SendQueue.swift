/// The batches of a project that have something left to send: jobs of one batch before fan-outs, fan-outs by priority.
///
/// A batch is named by its slot in the machine.
struct SendQueue: Sendable {
    /// The kind of a batch; each kind has its own line.
    enum Kind: Sendable {
        /// Jobs of one batch, retries of them included.
        case singles
        /// Jobs without a message: they have a rate of their own and need no permits.
        case managed
        case fanouts
    }

    /// A queued batch.
    struct Place: Sendable {
        let slot: Int
        /// The priority of a fan-out; 0 for every other batch.
        let priority: Int
    }

    /// The batches of one kind, in the order in which they are sent.
    struct Line: Sendable {
        fileprivate(set) var places: [Place] = []
        /// Recipients that were not sent; kept as a sum, because every hand-over asks for it.
        fileprivate(set) var unsent = 0

        /// - Returns: how many finished batches stood in front; they are removed.
        fileprivate mutating func removeFront(_ isDone: (Int) -> Bool) -> Int {
            let count = places.prefix { isDone($0.slot) }.count
            places.removeFirst(count)
            return count
        }
    }

    private(set) var singles = Line()
    private(set) var managed = Line()
    private(set) var fanouts = Line()

    var isEmpty: Bool { singles.places.isEmpty && managed.places.isEmpty && fanouts.places.isEmpty }
    /// Recipients that need a permit.
    var unsent: Int { singles.unsent + fanouts.unsent }

    /// Appends a batch that is not queued. A fan-out that preempts goes before batches of a lower priority.
    mutating func append(_ slot: Int, to kind: Kind, priority: Int) {
        let place = Place(slot: slot, priority: kind == .fanouts ? priority : 0)
        update(kind) { line in
            let before = line.places.lastIndex { $0.priority >= place.priority }
            line.places.insert(place, at: before.map { $0 + 1 } ?? 0)
        }
    }

    mutating func remove(_ slot: Int, from kind: Kind) {
        update(kind) { line in line.places.removeAll { $0.slot == slot } }
    }

    /// Adds `change` to the number of unsent recipients of the kind.
    mutating func count(_ change: Int, in kind: Kind) {
        update(kind) { $0.unsent += change }
    }

    /// Removes `done` batches that have nothing left to send. Batches are sent in order, so these usually stand in front;
    /// every batch is checked only if they do not.
    ///
    /// - Parameter isDone: whether a batch has nothing left to send.
    mutating func removeDone(_ done: Int, _ isDone: (Int) -> Bool) {
        let removed = singles.removeFront(isDone) + managed.removeFront(isDone) + fanouts.removeFront(isDone)
        guard removed < done else { return }
        singles.places.removeAll { isDone($0.slot) }
        managed.places.removeAll { isDone($0.slot) }
        fanouts.places.removeAll { isDone($0.slot) }
    }

    private mutating func update(_ kind: Kind, _ change: (inout Line) -> Void) {
        switch kind {
        case .singles: change(&singles)
        case .managed: change(&managed)
        case .fanouts: change(&fanouts)
        }
    }
}
