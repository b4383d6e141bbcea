/// Names one scheduled call.
public struct TimerID: Hashable, Sendable { let value: UInt64 }

/// Deadlines in a binary heap; a cancelled one stays in the heap and is skipped when it surfaces.
struct TimerQueue {
    private struct Entry {
        let deadline: UInt64
        let id: UInt64
    }

    private var heap: [Entry] = []
    private var bodies: [UInt64: () -> Void] = [:]
    private var nextID: UInt64 = 1

    var nextDeadline: UInt64? {
        mutating get {
            while let first = heap.first, bodies[first.id] == nil { removeFirst() }
            return heap.first?.deadline
        }
    }

    mutating func add(at deadline: UInt64, _ body: @escaping () -> Void) -> TimerID {
        let id = nextID
        nextID += 1
        bodies[id] = body
        heap.append(Entry(deadline: deadline, id: id))
        siftUp(heap.count - 1)
        return TimerID(value: id)
    }

    mutating func cancel(_ id: TimerID) { bodies[id.value] = nil }

    /// Everything added so far; a turn runs only timers up to here, so one that re-arms itself cannot hold it.
    var horizon: UInt64 { nextID }

    /// Takes the next timer that is due, in order of deadline, ties in order of adding. One at a time: a body may
    /// cancel a timer that is due in the same turn.
    mutating func popDue(_ now: UInt64, before horizon: UInt64) -> (() -> Void)? {
        while let first = heap.first, first.deadline <= now, first.id < horizon {
            removeFirst()
            if let body = bodies.removeValue(forKey: first.id) { return body }
        }
        return nil
    }

    private func before(_ left: Entry, _ right: Entry) -> Bool {
        left.deadline != right.deadline ? left.deadline < right.deadline : left.id < right.id
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard before(heap[child], heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, before(heap[child + 1], heap[child]) { child += 1 }
            guard before(heap[child], heap[parent]) else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
