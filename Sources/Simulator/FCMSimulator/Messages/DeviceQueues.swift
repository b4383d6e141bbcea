internal import HeapModule

/// The queues of all devices that have one, and which of them is due next.
struct DeviceQueues: Sendable {
    /// Bytes in all queues together; a body that several messages share is counted for each.
    static let maximumBytes = 256 << 20

    private struct Entry: Comparable, Sendable {
        var dueMs: Int64
        /// Entries due at the same time keep the order in which they were entered.
        var order: UInt64
        var instance: String

        static func < (left: Entry, right: Entry) -> Bool {
            (left.dueMs, left.order) < (right.dueMs, right.order)
        }
    }

    private var queues: [String: DeviceQueue] = [:]
    /// An entry is skipped if its queue has another due time by now.
    private var agenda = Heap<Entry>()
    private var lastOrder: UInt64 = 0
    private var bytes = 0

    private(set) var messageCount = 0
    var count: Int { queues.count }
    var agendaCount: Int { agenda.count }

    subscript(instance: String) -> DeviceQueue? { queues[instance] }

    func hasRoom(for message: StoredMessage) -> Bool { bytes + message.size <= Self.maximumBytes }

    /// Removes a queue, so that it can be changed and put back.
    mutating func remove(_ instance: String) -> DeviceQueue? {
        guard let queue = queues.removeValue(forKey: instance) else { return nil }
        bytes -= queue.size
        messageCount -= queue.messages.count
        return queue
    }

    /// Stores a queue, unless it is empty. `dueMs` is when a message of it is ready or expires; nil for never.
    mutating func put(_ instance: String, _ queue: DeviceQueue, dueMs: Int64?) {
        guard !queue.isEmpty else { return }
        var queue = queue
        let isNew = queue.dueMs != dueMs
        queue.dueMs = dueMs
        bytes += queue.size
        messageCount += queue.messages.count
        queues[instance] = queue
        if let dueMs, isNew { enter(instance, dueMs: dueMs) }
    }

    /// Removes the next entry that is due, in the order of time, and returns its queue's instance.
    mutating func nextDue(nowMs: Int64) -> (instance: String, dueMs: Int64)? {
        while let first = agenda.min, first.dueMs <= nowMs {
            agenda.removeMin()
            guard queues[first.instance]?.dueMs == first.dueMs else { continue }
            // This entry is spent, whatever the caller does with the queue.
            queues[first.instance]?.dueMs = nil
            return (first.instance, first.dueMs)
        }
        return nil
    }

    private mutating func enter(_ instance: String, dueMs: Int64) {
        // Spent entries may be as many as the others.
        if agenda.count > 2 * queues.count + 64 { dropSpentEntries() }
        lastOrder += 1
        agenda.insert(Entry(dueMs: dueMs, order: lastOrder, instance: instance))
    }

    private mutating func dropSpentEntries() {
        var seen: Set<String> = []
        agenda = Heap(
            agenda.unordered.sorted()
                .filter { queues[$0.instance]?.dueMs == $0.dueMs && seen.insert($0.instance).inserted }
        )
    }
}
