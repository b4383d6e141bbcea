internal import FanfareModel

/// Makes every id of the simulator. The same seed makes the same ids.
struct IdentifierSource: Equatable, Sendable {
    /// Serves the other random choices too, so that one seed decides a whole run.
    var random: SplitMix64
    private var messageCount: UInt64 = 0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    /// `0:<microseconds>%<hex>`, or for Apple devices the bare number.
    mutating func message(_ platform: Platform, nowMs: Int64) -> String {
        messageCount += 1
        let micros = nowMs &* 1_000 &+ Int64(messageCount % 1_000)
        guard platform != .apple else { return String(micros) }
        return "0:\(micros)%" + String(random.next() | 1 << 63, radix: 16)
    }

    /// The legacy protocols number a topic's message, unlike a token's.
    mutating func topicMessage() -> Int64 { Int64(random.next() >> 1) | 1 << 62 }

    /// Nineteen digits: more than a double holds.
    mutating func multicast() -> UInt64 { 1_000_000_000_000_000_000 + random.next() % 8_000_000_000_000_000_000 }

    /// Sixteen hexadecimal digits.
    mutating func stream() -> String { String(random.next() | 1 << 63, radix: 16) }
}
