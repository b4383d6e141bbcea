internal import HeapModule

/// Identifies one timer, repeating or not. Never reused.
public struct TimerID: Hashable, Sendable { let value: UInt64 }

/// Timers in order of deadline; a cancelled one stays in the heap and is skipped when it surfaces.
struct TimerQueue {
    private struct Entry: Comparable {
        let deadline: UInt64
        let id: UInt64

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline != right.deadline ? left.deadline < right.deadline : left.id < right.id
        }
    }

    private struct Timer {
        let body: () -> Void
        /// Nanoseconds between two runs; nil for a timer that runs once.
        let interval: UInt64?
    }

    private var heap = Heap<Entry>()
    private var timers: [UInt64: Timer] = [:]
    private var nextID: UInt64 = 1

    var nextDeadline: UInt64? {
        mutating get {
            while let first = heap.min, timers[first.id] == nil { heap.removeMin() }
            return heap.min?.deadline
        }
    }

    /// - Parameter interval: nanoseconds between two runs, above 0; nil for a timer that runs once.
    mutating func add(at deadline: UInt64, interval: UInt64? = nil, _ body: @escaping () -> Void) -> TimerID {
        let id = nextID
        nextID += 1
        timers[id] = Timer(body: body, interval: interval)
        heap.insert(Entry(deadline: deadline, id: id))
        return TimerID(value: id)
    }

    mutating func cancel(_ id: TimerID) { timers[id.value] = nil }

    /// Bound of the timers added so far. A turn runs only those, so a timer that adds another cannot prolong the turn.
    var horizon: UInt64 { nextID }

    /// Removes the next due timer, in order of deadline, ties in order of adding. A repeating one is due again an
    /// interval from `now`.
    ///
    /// One at a time: a body may cancel a timer that is due in the same turn.
    mutating func popDue(_ now: UInt64, before horizon: UInt64) -> (() -> Void)? {
        while let first = heap.min, first.deadline <= now, first.id < horizon {
            guard let timer = timers[first.id] else {
                heap.removeMin()
                continue
            }
            if let interval = timer.interval {
                heap.replaceMin(with: Entry(deadline: now &+ interval, id: first.id))
            } else {
                heap.removeMin()
                timers[first.id] = nil
            }
            return timer.body
        }
        return nil
    }
}
