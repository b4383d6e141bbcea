extension [UInt8] {
    /// Bytes that an answer's body takes while it arrives: its capacity.
    package var heldBytes: Int { isEmpty ? 0 : capacity }

    /// Appends to an answer's body. Its capacity grows by a quarter: twofold, half of the budget would stay empty.
    package mutating func appendPart(_ bytes: UnsafeRawBufferPointer) {
        let needed = count + bytes.count
        if needed > capacity { reserveCapacity(Swift.max(needed, count + count / 4)) }
        append(contentsOf: bytes)
    }
}

/// The bytes of unfinished answers that the lanes of one process hold, against a maximum for all of them.
///
/// A lane charges what it holds after each time it has read. While ``isExceeded``, the largest answer of
/// ``holderOfLargest`` is cut. Bodies of answers that have ended are counted until they are delivered: while they are too
/// many, no lane reads.
struct AnswerBudget: Equatable {
    /// What one lane holds, in bytes.
    struct Holding: Equatable {
        /// Of all its answers together.
        var bytes: Int
        /// Of its largest answer.
        var largest: Int
    }

    let maximumBytes: Int
    private(set) var bytes = 0
    /// Of answers that have ended and were not delivered yet.
    private(set) var undeliveredBytes = 0
    private var holdings: [Int: Holding] = [:]

    init(maximumBytes: Int) { self.maximumBytes = max(0, maximumBytes) }

    var isExceeded: Bool { bytes > maximumBytes }

    /// Whether lanes may read before the answers that have ended are delivered.
    var mayRead: Bool { undeliveredBytes < Self.maximumUndeliveredBytes }

    static let maximumUndeliveredBytes = 1 << 20

    /// The lane with the largest answer, the one of the lower number of two; nil if no lane holds a byte.
    var holderOfLargest: Int? {
        holdings.max { ($0.value.largest, $1.key) < ($1.value.largest, $0.key) }?.key
    }

    /// Replaces what the lane was charged before.
    mutating func charge(_ lane: Int, _ holding: Holding) {
        release(lane)
        guard holding.bytes > 0 else { return }
        holdings[lane] = holding
        bytes += holding.bytes
    }

    /// An answer has ended with a body of so many bytes.
    mutating func completed(_ body: Int) { undeliveredBytes += body }

    /// Answers with so many bytes together were delivered.
    mutating func delivered(_ bodies: Int) { undeliveredBytes -= bodies }

    /// The lane holds nothing more.
    mutating func release(_ lane: Int) {
        if let holding = holdings.removeValue(forKey: lane) { bytes -= holding.bytes }
    }
}
