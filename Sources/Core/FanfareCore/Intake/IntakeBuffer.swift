internal import DequeModule

/// The size of an entry of a job stream.
public protocol IntakeEntry: AnyObject {
    /// Bytes of all names and values.
    var byteCount: Int { get }
}

/// Entries between reading and hand-over. Their bytes in flight are bounded, because each is held twice on its way; the
/// others wait.
///
/// Times are nanoseconds on a clock that is never set.
struct IntakeBuffer<Entry: IntakeEntry> {
    /// Entries that may be in flight, waiting entries included.
    static var maximumEntries: Int { 256 }
    /// Bytes of entries in flight from which no other begins.
    static var maximumBytes: Int { 8 << 20 }
    /// After a failure nothing is read for this time: it would only pile up.
    static var pauseNs: UInt64 { 500_000_000 }
    /// From a failure until leftovers are read again. Longer than the pause, so that an entry that always fails leaves
    /// room for others.
    static var rereadNs: UInt64 { 1_000_000_000 }

    private var waiting: Deque<Entry> = []
    private var inFlight = 0
    private var bytes = 0
    private var failedAt: UInt64?
    private var leftoversAt: UInt64?

    /// Entries that are handed over or wait for it.
    var count: Int { inFlight + waiting.count }

    mutating func append(_ entry: Entry) { waiting.append(entry) }

    /// The next entry to hand over; nil when none waits, or the entries in flight are enough. It counts until
    /// ``finish(_:)`` or ``fail(_:now:)``.
    mutating func next() -> Entry? {
        guard bytes < Self.maximumBytes, let next = waiting.popFirst() else { return nil }
        inFlight += 1
        bytes += next.byteCount
        return next
    }

    /// The entry is out of the stream.
    mutating func finish(_ entry: Entry) {
        inFlight -= 1
        bytes -= entry.byteCount
    }

    /// The entry could not be handed over. Entries that wait would fail too and are dropped: all stay pending in Redis.
    mutating func fail(_ entry: Entry, now: UInt64) {
        postpone(entry, now: now)
        waiting.removeAll(keepingCapacity: true)
        failedAt = now
    }

    /// The entry stays pending in Redis and is read again.
    mutating func postpone(_ entry: Entry, now: UInt64) {
        finish(entry)
        leftoversAt = min(leftoversAt ?? .max, now.adding(Self.rereadNs))
    }

    /// Entries that may be read now.
    func room(now: UInt64) -> Int {
        if let failedAt, now < failedAt.adding(Self.pauseNs) { return 0 }
        return waiting.isEmpty && bytes < Self.maximumBytes ? max(0, Self.maximumEntries - inFlight) : 0
    }

    /// There is no room, but there will be when entries in flight are handed over.
    func isFull(now: UInt64) -> Bool { inFlight > 0 && room(now: now) == 0 }

    /// Entries of dead consumers were given to this one.
    mutating func addLeftovers(now: UInt64) { leftoversAt = now }

    func leftovers(now: UInt64) -> ReadPlan.Leftovers {
        guard let leftoversAt else { return .none }
        guard leftoversAt <= now else { return .later }
        return count == 0 && room(now: now) > 0 ? .readable : .due
    }

    var hasLeftovers: Bool { leftoversAt != nil }

    mutating func rereadLeftovers() { leftoversAt = nil }
}
