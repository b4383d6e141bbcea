public import StreamWire

/// Flushes that Redis has not answered, and the results that a replaced server may have lost.
///
/// A flush whose answer was lost is written again as it was; the function answers the same.
///
/// ```
///  add ──► waiting ──► in flight ──► answered
///             ▲             │
///             └─────────────┘ error, unreadable answer, lost connection
/// ```
public struct FlushTable {
    /// What became of a call of `record`.
    public enum Answer: Sendable {
        case reply(RecordReply)
        /// The call was answered in a form that this version does not know.
        case unreadable
        /// An error reply, which left the connection as it was.
        case refused
        /// The connection was lost with the answer: the next one writes the flush again.
        case lost
    }

    /// What to do after an answer.
    public enum Conclusion {
        case answered(Flush, RecordReply)
        case writeAgain(afterMs: Int64)
        case none
    }

    private struct Entry {
        let flush: Flush
        var isInFlight = false
    }

    private var entries: [UInt64: Entry] = [:]
    private var nextID: UInt64 = 1
    /// Whether flushes may be written. They wait for the comparison with Redis after a new connection: a flush before it
    /// would make an older state look like the newest, and the results that this state lacks would be lost.
    public private(set) var isOpen = false
    public private(set) var replayBuffer: ReplayBuffer

    private static let refusedPauseMs: Int64 = 100
    private static let unreadablePauseMs: Int64 = 1_000

    public init(replayBuffer: ReplayBuffer = ReplayBuffer()) { self.replayBuffer = replayBuffer }

    public var isEmpty: Bool { entries.isEmpty }

    /// - Returns: the flush's id, in the order of the flushes.
    public mutating func add(_ flush: Flush) -> UInt64 {
        defer { nextID += 1 }
        entries[nextID] = Entry(flush: flush)
        return nextID
    }

    /// The flush, if it is to be written now; nil while the table is cut, and when it is in flight or answered.
    public mutating func begin(_ id: UInt64) -> Flush? {
        guard isOpen, let place = entries.index(forKey: id), !entries.values[place].isInFlight else { return nil }
        entries.values[place].isInFlight = true
        return entries.values[place].flush
    }

    /// - Parameter now: nanoseconds on a clock that is never set.
    public mutating func handle(_ answer: Answer, of id: UInt64, now: UInt64) -> Conclusion {
        switch answer {
        case .reply(let reply):
            guard let flush = entries.removeValue(forKey: id)?.flush else { return .none }
            if case .ok = reply { replayBuffer.append(flush, now: now) }
            return .answered(flush, reply)
        case .unreadable, .refused:
            guard isOpen, entries[id] != nil else { return .none }
            entries[id]?.isInFlight = false
            if case .refused = answer { return .writeAgain(afterMs: Self.refusedPauseMs) }
            return .writeAgain(afterMs: Self.unreadablePauseMs)
        case .lost: return .none
        }
    }

    // MARK: Connections

    /// Writes nothing until ``open(isSameServer:)``: the connection was lost.
    public mutating func cut() {
        isOpen = false
        for id in entries.keys { entries[id]?.isInFlight = false }
    }

    /// Lets flushes be written on a new connection. The comparison with Redis follows, and then ``waiting``.
    ///
    /// - Returns: the confirmed flushes that another server may have lost, which precede the comparison.
    public mutating func open(isSameServer: Bool) -> [Flush] {
        isOpen = true
        return isSameServer ? [] : replayBuffer.removeAll()
    }

    /// The flushes to write again after the comparison, in their order.
    public var waiting: [UInt64] { entries.keys.filter { entries[$0]?.isInFlight == false }.sorted() }

    /// See ``ReplayBuffer/markReplicated(upTo:)``.
    public mutating func markReplicated(upTo time: UInt64) { replayBuffer.markReplicated(upTo: time) }
}
