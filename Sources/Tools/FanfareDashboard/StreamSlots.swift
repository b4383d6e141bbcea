internal import Synchronization

/// Limits the browsers that follow the fleet at once: each costs a connection and a task.
final class StreamSlots: Sendable {
    private let limit: Int
    private let taken = Mutex(0)

    init(limit: Int) { self.limit = limit }

    var isFull: Bool { taken.withLock { $0 >= limit } }

    /// Acquires a slot; nil if none is free.
    func acquire() -> StreamSlot? {
        taken.withLock { taken in
            guard taken < limit else { return nil }
            taken += 1
            return StreamSlot(self)
        }
    }

    fileprivate func release() { taken.withLock { $0 -= 1 } }
}

/// A slot of ``StreamSlots``, released with its last reference, even if the reply never starts.
final class StreamSlot: Sendable {
    private let slots: StreamSlots

    fileprivate init(_ slots: StreamSlots) { self.slots = slots }

    deinit { slots.release() }
}
