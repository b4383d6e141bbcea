/// How large a stream's entries may be. An entry holds one recipient or a million, and nobody knows which before it is
/// there: so one is asked for at first, twice as many each time while they are small, and one when they are large.
public struct ReadSizer: Sendable {
    /// Bytes of one answer. A single entry may have more.
    public static let mostBytes = 8 << 20
    public static let mostEntries = 256

    /// Bytes of an entry at most, as far as is known: of the largest of late.
    private var expected = mostBytes
    private var hasGiven = false
    /// Expected of a stream that had none when it was asked: that few of many need a round trip of their own.
    private static let unknown = mostBytes / 32

    public init() {}

    /// How many of these streams to ask at once, from the first on: each may give an entry. Those that have given some and
    /// those that never have are asked apart: of the latter nobody knows how many would be too many.
    public static func streams(_ all: [ReadSizer]) -> Int {
        var (count, bytes) = (0, 0)
        for stream in all {
            bytes += stream.expected
            guard bytes <= mostBytes, stream.hasGiven == all[0].hasGiven else { break }
            count += 1
        }
        return max(1, count)
    }

    /// Entries to ask for of each of these streams.
    public static func count(_ asked: [ReadSizer]) -> Int {
        guard asked.allSatisfy(\.hasGiven) else { return 1 }
        let bytes = asked.reduce(0) { $0 + $1.expected }
        return min(mostEntries, max(1, mostBytes / max(1, bytes)))
    }

    /// An answer came.
    ///
    /// - Parameter largest: bytes of the stream's largest entry in it; 0 when it had none, which says little of the next.
    public mutating func took(largest: Int) {
        guard largest > 0 else {
            if !hasGiven { expected = min(expected, Self.unknown) }
            return
        }
        hasGiven = true
        // What was large is forgotten by halves: a large entry among small ones is seldom alone.
        expected = min(Self.mostBytes, max(largest, expected / 2, 256))
    }

    /// The answer was more than the connection takes.
    public mutating func tookTooMuch() { (expected, hasGiven) = (Self.mostBytes, true) }
}
