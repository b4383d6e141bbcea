internal import FanfareModel

/// A count-min sketch that finds recipients which a large fan-out names again and again. It counts over a minute at most,
/// never too low; a count that is too high only rate limits a recipient without need.
///
/// Equal recipients of one batch are sent once, so only a fan-out of more than 240 batches can exceed FCM's 240 messages
/// a minute to one device (page "ProtocolFacts", "Quotas and fan-outs").
///
/// 256 KiB; a count allocates nothing.
struct CountMinSketch: Sendable {
    /// How long counts are kept, in nanoseconds: all are forgotten at once after it.
    static let windowNs: UInt64 = 60_000_000_000
    /// The count from which a recipient is rate limited: the window before may have ended with as many sends that were
    /// not, and together they are a minute's worth.
    static let paceFrom = 120

    private static let rows = 4
    /// Cells of a row in a block. All of a recipient's cells stand in one block of 64 bytes, which saves cache misses.
    private static let columns = 16
    private static let blocks = 4_096

    private var cells = [UInt8](repeating: 0, count: blocks * rows * columns)
    private var windowStart: UInt64?

    /// Counts one more send to a recipient.
    ///
    /// - Parameters:
    ///   - hash: the recipient's ``FanfareModel/ByteHash``.
    ///   - now: nanoseconds on a clock that is never set.
    /// - Returns: how often it was counted in this window, this time included: never too low, and 255 at most.
    mutating func count(hash: UInt64, now: UInt64) -> Int {
        let start = windowStart ?? now
        windowStart = start
        if now >= start.adding(Self.windowNs) {
            for index in cells.indices { cells[index] = 0 }
            windowStart = now
        }
        let hash = ByteHash.mixed(hash)
        return unsafe cells.withUnsafeMutableBufferPointer { cells in
            var least = UInt8.max
            for row in 0..<Self.rows { least = min(least, unsafe cells[Self.cell(row, hash)]) }
            guard least < .max else { return Int(least) }
            // Only the lowest cells are raised: the others already hold the count of another recipient.
            for row in 0..<Self.rows where unsafe cells[Self.cell(row, hash)] == least {
                unsafe cells[Self.cell(row, hash)] = least + 1
            }
            return Int(least) + 1
        }
    }

    /// The low twelve bits of the hash choose the block, four more for each row its cell.
    private static func cell(_ row: Int, _ hash: UInt64) -> Int {
        let block = Int(truncatingIfNeeded: hash) & (blocks - 1)
        let column = Int(truncatingIfNeeded: hash >> UInt64(12 + 4 * row)) & (columns - 1)
        return (block * rows + row) * columns + column
    }
}
