/// Entries between reading and hand-over. Each is held twice on its way, so that many large ones at once are more than a
/// machine has: they begin as far as bytes allow, and the others wait.
///
/// Generic over the entry, of which only its bytes count. Times are nanoseconds on a clock that is never set.
public struct IntakeBuffer<Entry> {
    /// Entries that may be under way, those that wait included.
    public static var mostEntries: Int { 256 }
    /// Bytes of entries under way from which no other begins.
    public static var mostBytes: Int { 8 << 20 }
    /// After a failure nothing is read for a while: it would only pile up.
    public static var pauseNs: UInt64 { 500_000_000 }
    /// After a failure, until what was given to this reader is read again. Longer than the pause: an entry that always
    /// fails leaves room for others in between.
    public static var againNs: UInt64 { 1_000_000_000 }

    /// Those before `head` have begun, and are not held here any more.
    private var waiting: [(entry: Entry, bytes: Int)?] = []
    private var head = 0
    private var begun = 0
    private var bytes = 0
    private var failedAt: UInt64?
    private var leftoversAt: UInt64?

    public init() {}

    /// Entries that are handed over or wait for it.
    public var underWay: Int { begun + waiting.count - head }

    public mutating func add(_ entry: Entry, bytes: Int) { waiting.append((entry, bytes)) }

    /// The next entry to hand over; nil when none waits, or those under way are enough. It counts until ``finished(bytes:)``
    /// or ``failed(bytes:now:)``.
    public mutating func next() -> Entry? {
        guard head < waiting.count, bytes < Self.mostBytes, let next = waiting[head] else { return nil }
        waiting[head] = nil
        head += 1
        if head == waiting.count { clear() }
        begun += 1
        bytes += next.bytes
        return next.entry
    }

    private mutating func clear() {
        waiting.removeAll(keepingCapacity: true)
        head = 0
    }

    /// The entry is where it belongs.
    public mutating func finished(bytes count: Int) {
        begun -= 1
        bytes -= count
    }

    /// The entry could not be handed over. Those that wait would fare no better, and are dropped: all of them stay with
    /// this reader, and are to be read again.
    public mutating func failed(bytes count: Int, now: UInt64) {
        finished(bytes: count)
        clear()
        failedAt = now
        leftoversAt = min(leftoversAt ?? .max, now.adding(Self.againNs))
    }

    /// Entries that may be read now.
    public func room(now: UInt64) -> Int {
        if let failedAt, now < failedAt.adding(Self.pauseNs) { return 0 }
        return head == waiting.count && bytes < Self.mostBytes ? max(0, Self.mostEntries - begun) : 0
    }

    /// No room, but soon: when those under way are handed over.
    public func isFull(now: UInt64) -> Bool { begun > 0 && room(now: now) == 0 }

    /// Entries of others were given to this reader.
    public mutating func noteLeftovers(now: UInt64) { leftoversAt = now }

    /// Some that this reader was given are to be read again.
    public var hasLeftovers: Bool { leftoversAt != nil }

    /// They are to be read before new ones.
    public func leftoversAreDue(now: UInt64) -> Bool { leftoversAt.map { $0 <= now } ?? false }

    /// True once, when they are due and none of them can be under way.
    public mutating func takeLeftovers(now: UInt64) -> Bool {
        guard leftoversAreDue(now: now), underWay == 0, room(now: now) > 0 else { return false }
        leftoversAt = nil
        return true
    }
}

extension IntakeBuffer: Sendable where Entry: Sendable {}
