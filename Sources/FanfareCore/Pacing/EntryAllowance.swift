/// How many entries to ask a stream for at once. An entry holds one recipient or a million, and nobody knows which before
/// it is there: so few are asked for at first, more as they turn out to be small, and one at a time when they are large.
public struct EntryAllowance: Sendable {
    /// Bytes that the entries of one answer should not exceed, unless a single one does.
    public static let mostBytes = 8 << 20
    public static let mostEntries = 256

    /// Bytes of an entry at most, as far as is known: of the largest of late.
    private var expected = mostBytes

    public init() {}

    /// Entries to ask for of each of so many streams.
    public func count(streams: Int) -> Int {
        min(Self.mostEntries, max(1, Self.mostBytes / expected / max(1, streams)))
    }

    /// An answer came.
    ///
    /// - Parameter largest: bytes of its largest entry; 0 when it had none, which says nothing of the next.
    public mutating func took(largest: Int) {
        guard largest > 0 else { return }
        // What was large is forgotten by halves: a large entry among small ones is seldom alone.
        expected = min(Self.mostBytes, max(largest, expected / 2, 256))
    }

    /// The answer was more than the connection takes.
    public mutating func tookTooMuch() { expected = Self.mostBytes }
}
