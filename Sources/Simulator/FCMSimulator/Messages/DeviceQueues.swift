/// The queues of all devices that have one, and which of them is due next.
struct DeviceQueues: Equatable, Sendable {
    /// Bytes in all queues together; a body that several messages share is counted for each.
    static let mostBytes = 256 << 20

    private struct Entry: Equatable, Sendable {
        var dueMs: Int64
        /// Entries due at the same time keep the order in which they were entered.
        var order: UInt64
        var instance: String

        func isBefore(_ other: Entry) -> Bool {
            dueMs == other.dueMs ? order < other.order : dueMs < other.dueMs
        }
    }

    private var queues: [String: DeviceQueue] = [:]
    /// A heap. An entry is skipped if its queue has another due time by now.
    private var agenda: [Entry] = []
    private var lastOrder: UInt64 = 0
    private var bytes = 0

    private(set) var messageCount = 0
    var count: Int { queues.count }
    var agendaCount: Int { agenda.count }

    subscript(instance: String) -> DeviceQueue? { queues[instance] }

    func hasRoom(for message: StoredMessage) -> Bool { bytes + message.size <= Self.mostBytes }

    /// Removes a queue, so that it can be changed and put back.
    mutating func remove(_ instance: String) -> DeviceQueue? {
        guard let queue = queues.removeValue(forKey: instance) else { return nil }
        bytes -= queue.size
        messageCount -= queue.messages.count
        return queue
    }

    /// Stores a queue; an empty one is forgotten.
    ///
    /// - Parameter dueMs: when something happens to it by itself, Unix milliseconds; nil for never.
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
        while let first = agenda.first, first.dueMs <= nowMs {
            removeFirst()
            guard queues[first.instance]?.dueMs == first.dueMs else { continue }
            // This entry is spent, whatever the caller does with the queue.
            queues[first.instance]?.dueMs = nil
            return (first.instance, first.dueMs)
        }
        return nil
    }

    // MARK: The heap

    private mutating func enter(_ instance: String, dueMs: Int64) {
        // Spent entries may be as many as the others.
        if agenda.count > 2 * queues.count + 64 { rebuild() }
        lastOrder += 1
        agenda.append(Entry(dueMs: dueMs, order: lastOrder, instance: instance))
        var place = agenda.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard agenda[place].isBefore(agenda[parent]) else { break }
            agenda.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func removeFirst() {
        agenda.swapAt(0, agenda.count - 1)
        agenda.removeLast()
        var place = 0
        while true {
            let left = 2 * place + 1
            guard left < agenda.count else { return }
            let right = left + 1
            let child = right < agenda.count && agenda[right].isBefore(agenda[left]) ? right : left
            guard agenda[child].isBefore(agenda[place]) else { return }
            agenda.swapAt(place, child)
            place = child
        }
    }

    /// Drops the spent entries. A sorted list is a heap.
    private mutating func rebuild() {
        var seen: Set<String> = []
        agenda = agenda.sorted { $0.isBefore($1) }
            .filter { queues[$0.instance]?.dueMs == $0.dueMs && seen.insert($0.instance).inserted }
    }
}
