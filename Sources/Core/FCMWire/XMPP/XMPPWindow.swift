/// The messages of one connection that have no answer yet.
struct XMPPWindow: Equatable {
    struct Entry: Equatable {
        var tag: UInt64
        var messageID: String
        /// The recipient, as an answer may name it; empty for a condition.
        var to: String
        /// Counts the messages of the connection.
        var number: UInt64
        /// Where its stanza begins in what the connection wrote, in bytes.
        var start: UInt64
        var deadlineMs: Int64
    }

    private var entries: [String: Entry] = [:]
    private var next: UInt64 = 0
    /// No entry is due before this; looked up again only when it has come.
    private(set) var dueMs: Int64?

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    func contains(_ messageID: String) -> Bool { entries[messageID] != nil }

    mutating func insert(tag: UInt64, messageID: String, to: String, start: UInt64, deadlineMs: Int64) {
        entries[messageID] = Entry(
            tag: tag,
            messageID: messageID,
            to: to,
            number: next,
            start: start,
            deadlineMs: deadlineMs
        )
        next += 1
        if dueMs == nil { dueMs = deadlineMs }
    }

    mutating func remove(_ messageID: String) -> Entry? {
        let entry = entries.removeValue(forKey: messageID)
        if entries.isEmpty { dueMs = nil }
        return entry
    }

    /// Removes the oldest message to a recipient, whose name is compared byte by byte.
    mutating func removeOldest(to recipient: String) -> Entry? {
        guard !recipient.isEmpty else { return nil }
        return entries.values.filter { $0.to.utf8.elementsEqual(recipient.utf8) }.min { $0.number < $1.number }
            .flatMap { remove($0.messageID) }
    }

    /// Removes the messages that have waited for their answer too long, in the order of sending.
    mutating func removeLate(nowMs: Int64) -> [Entry] {
        entries.values.filter { $0.deadlineMs <= nowMs }.sorted { $0.number < $1.number }
            .compactMap { remove($0.messageID) }
    }

    /// In the order of sending.
    mutating func removeAll() -> [Entry] {
        defer {
            entries = [:]
            dueMs = nil
        }
        return entries.values.sorted { $0.number < $1.number }
    }

    /// Whether any has waited for its answer too long.
    mutating func isLate(nowMs: Int64) -> Bool {
        guard let due = dueMs, due <= nowMs else { return false }
        dueMs = entries.values.lazy.map(\.deadlineMs).min()
        return dueMs.map { $0 <= nowMs } ?? false
    }
}
