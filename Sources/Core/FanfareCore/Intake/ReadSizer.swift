/// Decides how many entries of a stream to read at once, whose sizes are not known before: one entry first, then twice as
/// many each time while entries are small, and one again after a large one.
struct ReadSizer: Sendable {
    /// Bytes of one answer. A single entry may have more.
    static let maximumBytes = 8 << 20
    static let maximumEntries = 256

    /// Bytes of the largest of the last entries, halved with each read of smaller ones.
    private var expected = maximumBytes
    private var hasGiven = false
    /// Bytes expected of a stream that was empty so far, so that 32 such streams share a round trip.
    private static let unknown = maximumBytes / 32

    /// How many of these streams to read at once, from the first on: each may give an entry. Streams that have given
    /// entries and streams that have not are read apart: the size of the latter's entries is not known.
    static func streams(_ all: [ReadSizer]) -> Int {
        var (count, bytes) = (0, 0)
        for stream in all {
            bytes += stream.expected
            guard bytes <= maximumBytes, stream.hasGiven == all[0].hasGiven else { break }
            count += 1
        }
        return max(1, count)
    }

    /// Entries to read of each of these streams.
    static func count(_ asked: [ReadSizer]) -> Int {
        guard asked.allSatisfy(\.hasGiven) else { return 1 }
        let bytes = asked.reduce(0) { $0 + $1.expected }
        return min(maximumEntries, max(1, maximumBytes / max(1, bytes)))
    }

    /// - Parameter largest: bytes of the stream's largest entry in an answer; 0 when it had none.
    mutating func received(largest: Int) {
        guard largest > 0 else {
            if !hasGiven { expected = min(expected, Self.unknown) }
            return
        }
        hasGiven = true
        // Halve at most: large entries come in groups, so the estimate must fall slowly.
        expected = min(Self.maximumBytes, max(largest, expected / 2, 256))
    }

    /// The answer exceeded the connection's limit.
    mutating func answerWasTooLarge() { (expected, hasGiven) = (Self.maximumBytes, true) }
}
