internal import FanfareModel
internal import StreamWire

/// Finds recipients that a batch names more than once: a table of positions, found by hash.
struct RecipientIndex {
    /// Positions, one more than they are; 0 where there is none. At least half of them stay free.
    private var slots: [Int32]

    init(capacity: Int) {
        var size = 16
        while size < 2 * capacity { size *= 2 }
        slots = [Int32](repeating: 0, count: size)
    }

    /// The position of an equal recipient that was asked for before; nil, and noted, when there is none.
    ///
    /// - Parameter hash: of the recipient, by ``FanfareModel/ByteHash``.
    mutating func earlier(than position: Int, hash: UInt64, in recipients: [ClaimedRecipient]) -> Int? {
        let text = recipients[position].text
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let other = Int(slots[slot]) - 1
            if recipients[other].text == text { return other }
            slot = (slot + 1) & mask
        }
        slots[slot] = Int32(position + 1)
        return nil
    }
}
