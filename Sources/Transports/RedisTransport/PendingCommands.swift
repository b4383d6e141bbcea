/// Commands whose replies are outstanding, in the order of sending, which is the order of the replies.
///
/// Generic over what waits for the reply, so that tests need no connection.
struct PendingCommands<Waiter> {
    struct Entry {
        let waiter: Waiter
        /// On the loop's clock, in nanoseconds, as the time it may take.
        let sentAt: UInt64
        let timeout: UInt64
        /// Position in the connection's outgoing bytes behind the command's last byte.
        let end: UInt64

        /// - Parameter movedAt: when the connection last moved bytes of what is outstanding. Answers come in order, so
        ///   while they come, or while a large command leaves, none of those behind is late.
        func deadline(movedAt: UInt64) -> UInt64 { max(sentAt, movedAt) + timeout }
    }

    /// Those before `head` are answered, and not held here any more: what waits for an answer may hold a large job.
    private var entries: [Entry?] = []
    private var head = 0

    var count: Int { entries.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func popFirst() -> Entry? {
        guard head < entries.count, let entry = entries[head] else { return nil }
        entries[head] = nil
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1_024, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        return entry
    }

    mutating func takeAll() -> [Entry] {
        defer {
            entries = []
            head = 0
        }
        return entries[head...].compactMap(\.self)
    }

    /// Walks the queue: ask when a timer fires, not for every command.
    func earliestDeadline(movedAt: UInt64) -> UInt64? {
        entries[head...].lazy.compactMap { $0?.deadline(movedAt: movedAt) }.min()
    }
}
