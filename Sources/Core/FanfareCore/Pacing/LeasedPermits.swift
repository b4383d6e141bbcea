/// The permits that the governor in Redis lent to this worker from the project's quota, one permit a send.
///
/// A permit lapses ``lifetimeNs`` after the call that lent it was sent, so a worker that was frozen, or got a late answer,
/// cannot add its permits to those lent meanwhile. That bounds a project's sends in any 60 s. The quota itself is FCM's
/// (page "ProtocolFacts", "Quotas and fan-outs").
///
/// Every permit is accounted for once: `lent = spent + lapsed + given back + available`.
public struct LeasedPermits: Sendable {
    /// How long a permit is good, in nanoseconds.
    public static let lifetimeNs: UInt64 = 250_000_000

    /// More blocks than a worker's calls can leave alive; beyond it two are joined, so that memory is bounded.
    private static let maximumBlocks = 16

    private struct Block {
        var count: Int
        var endsAt: UInt64
    }

    /// In the order they end.
    private var blocks: [Block] = []

    /// Permits that lapsed unused, since the beginning.
    public private(set) var lapsed = 0
    /// The part of them that ``countLapsed(now:)`` has counted.
    private var counted = 0

    public init() { blocks.reserveCapacity(Self.maximumBlocks + 1) }

    /// Adds a block of permits. A block that came too late lapses at the next call.
    ///
    /// - Parameters:
    ///   - count: none are added when it is not positive.
    ///   - at: nanoseconds, read **before** the call was sent: a slow answer must not prolong the permits.
    public mutating func lent(_ count: Int, at: UInt64) {
        guard count > 0 else { return }
        let endsAt = at.adding(Self.lifetimeNs)
        // Answers come in the order of the calls, so this is the end of the array but for a peer that reorders.
        var index = blocks.count
        while index > 0, blocks[index - 1].endsAt > endsAt { index -= 1 }
        if index > 0, blocks[index - 1].endsAt == endsAt {
            blocks[index - 1].count = blocks[index - 1].count.adding(count)
        } else {
            blocks.insert(Block(count: count, endsAt: endsAt), at: index)
        }
        if blocks.count > Self.maximumBlocks {
            // The joined block ends with its earlier half: a permit may end early, never late.
            let last = blocks.removeLast()
            blocks[blocks.count - 1].count = blocks[blocks.count - 1].count.adding(last.count)
        }
    }

    /// Permits good at `now` (nanoseconds).
    public func available(now: UInt64) -> Int {
        var sum = 0
        for block in blocks where block.endsAt > now { sum = sum.adding(block.count) }
        return sum
    }

    /// Spends `count` permits, earliest end first; all of them or, when there are fewer, none.
    ///
    /// - Returns: whether they were spent. Zero or fewer permits always are.
    public mutating func spend(_ count: Int, now: UInt64) -> Bool {
        guard count > 0 else { return true }
        lapse(now)
        guard available(now: now) >= count else { return false }
        remove(count)
        return true
    }

    /// Removes permits that the next call gives back to the governor, earliest end first. Lapsed ones are not given
    /// back: their quota is past.
    ///
    /// - Parameter keep: how many stay, if there are so many.
    /// - Returns: how many were removed.
    public mutating func giveBack(keep: Int, now: UInt64) -> Int {
        lapse(now)
        let surplus = available(now: now) - max(0, keep)
        guard surplus > 0 else { return 0 }
        remove(surplus)
        return surplus
    }

    /// Counts the permits that lapsed since the last count.
    public mutating func countLapsed(now: UInt64) -> Int {
        lapse(now)
        defer { counted = lapsed }
        return lapsed - counted
    }

    private mutating func lapse(_ now: UInt64) {
        while let first = blocks.first, first.endsAt <= now {
            lapsed = lapsed.adding(first.count)
            blocks.removeFirst()
        }
    }

    /// Removes permits that are known to be there.
    private mutating func remove(_ count: Int) {
        var left = count
        while left > 0, let first = blocks.first {
            if first.count > left {
                blocks[0].count -= left
                return
            }
            left -= first.count
            blocks.removeFirst()
        }
    }
}
