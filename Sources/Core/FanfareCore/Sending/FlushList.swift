/// Batches with something to write, in the order in which it came, and the timer that writes it.
struct FlushList {
    private var slots: [Int] = []
    private var isArmed = false

    mutating func append(_ slot: Int) { slots.append(slot) }

    /// Counts on the timer.
    ///
    /// - Returns: whether the timer has to be armed.
    mutating func arm() -> Bool {
        defer { isArmed = true }
        return !isArmed
    }

    /// The timer fired.
    mutating func timerFired() { isArmed = false }

    /// A slot may be here whose batch was flushed or removed since.
    func allSatisfy(_ matches: (Int) -> Bool) -> Bool { slots.allSatisfy(matches) }
    func contains(_ slot: Int) -> Bool { slots.contains(slot) }

    /// Removes all slots and returns them.
    mutating func removeAll() -> [Int] {
        var removed: [Int] = []
        swap(&removed, &slots)
        return removed
    }

    /// Uses the memory of removed slots again.
    mutating func reuse(_ memory: consuming [Int]) {
        guard slots.isEmpty else { return }
        memory.removeAll(keepingCapacity: true)
        slots = memory
    }
}
