/// Decides which of a worker's two readers reads a stream. At both ends of a read Redis looks at every stream of it, so that
/// of a thousand streams the few with entries have reads of their own, and the others one that lasts long.
///
/// ```
///          no entry for 15 s, and not wanted
/// awake ──────────────────────────────────────────► asleep
///   ▲                                                 │
///   └─────────────────────────────────────────────────┘
///          an entry, or wanted
/// ```
/// A reader leaves a stream to the other one only while that one's read in flight is of the stream: a stream is always read.
public struct ReadSplit: Sendable {
    public enum Reader: Sendable {
        case waking
        case sleeping
    }

    /// Fewer streams cost too little to be worth another connection.
    public static let minimumStreams = 64
    private static let awakeNs: UInt64 = 15_000_000_000

    /// By place, until when a stream is awake.
    private var awakeUntil: [Int: UInt64] = [:]
    /// The places whose streams the sleeping reader reads.
    private var asleep: Set<Int> = []

    public init() {}

    public mutating func receivedEntry(_ place: Int, now: UInt64) { awakeUntil[place] = now + Self.awakeNs }

    /// Whether a reader's next read is to be of a stream.
    ///
    /// - Parameters:
    ///   - isWanted: whether more than new entries is awaited of the stream: its project is not quiet, entries are left
    ///     over, or entries of dead consumers are taken over.
    ///   - isRecovered: whether the stream's pending entries have been read.
    ///   - isReadByOther: whether the other reader's read in flight is of the stream.
    public mutating func mayRead(
        _ reader: Reader,
        _ place: Int,
        isWanted: Bool,
        isRecovered: Bool,
        isReadByOther: Bool,
        now: UInt64
    ) -> Bool {
        if let until = awakeUntil[place], until <= now { awakeUntil[place] = nil }
        let isAsleep = isRecovered && awakeUntil[place] == nil && !isWanted
        guard reader == .sleeping else { return !(isAsleep && isReadByOther) }
        if isAsleep {
            asleep.insert(place)
        } else if isReadByOther || !isRecovered {
            asleep.remove(place)
        }
        return asleep.contains(place)
    }
}
