internal import DequeModule

/// Commands whose replies are outstanding, in the order of sending, which is the order of the replies.
///
/// Generic over what waits for the reply, so that tests need no connection.
struct PendingCommands<Waiter> {
    struct Entry {
        let waiter: Waiter
        /// On the loop's clock, in nanoseconds, as the time it may take.
        let sentAt: UInt64
        let timeout: UInt64
        /// Position in the connection's outgoing bytes after the command's last byte.
        let end: UInt64

        /// - Parameter movedAt: when the connection last moved bytes of what is outstanding. Answers come in order, so
        ///   while they come, or while a large command leaves, no later command is late.
        func deadline(movedAt: UInt64) -> UInt64 { max(sentAt, movedAt) + timeout }
    }

    private var entries: Deque<Entry> = []

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func popFirst() -> Entry? { entries.popFirst() }

    mutating func removeAll() -> [Entry] {
        defer { entries = [] }
        return Array(entries)
    }

    /// The earliest deadline of all commands. It walks the queue: call it when a timer fires, not for every command.
    func earliestDeadline(movedAt: UInt64) -> UInt64? {
        entries.lazy.map { $0.deadline(movedAt: movedAt) }.min()
    }
}
