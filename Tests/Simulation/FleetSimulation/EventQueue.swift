/// Priority queue of events by virtual time. Events of equal time keep the order in which they were added. Payloads are
/// stored outside the heap, so that ordering moves only numbers.
struct EventQueue<Payload> {
    private struct Key {
        var time: Int
        var order: UInt64
        var place: Int
    }

    private var heap: [Key] = []
    private var payloads: [Payload?] = []
    private var free: [Int] = []
    private var order: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }

    /// - Parameter time: microseconds.
    mutating func add(_ payload: Payload, at time: Int) {
        let place: Int
        if let last = free.popLast() {
            place = last
            payloads[place] = payload
        } else {
            place = payloads.count
            payloads.append(payload)
        }
        order += 1
        let key = Key(time: time, order: order, place: place)
        var hole = heap.count
        heap.append(key)
        while hole > 0 {
            let parent = (hole - 1) / 2
            guard Self.isBefore(key, heap[parent]) else { break }
            heap[hole] = heap[parent]
            hole = parent
        }
        heap[hole] = key
    }

    mutating func next() -> (time: Int, payload: Payload)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            var hole = 0
            while true {
                var child = 2 * hole + 1
                guard child < heap.count else { break }
                if child + 1 < heap.count, Self.isBefore(heap[child + 1], heap[child]) { child += 1 }
                guard Self.isBefore(heap[child], last) else { break }
                heap[hole] = heap[child]
                hole = child
            }
            heap[hole] = last
        }
        guard let payload = payloads[first.place].take() else { return nil }
        free.append(first.place)
        return (first.time, payload)
    }

    private static func isBefore(_ left: Key, _ right: Key) -> Bool {
        left.time != right.time ? left.time < right.time : left.order < right.order
    }
}
