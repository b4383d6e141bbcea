/// SplitMix64: a small seeded generator, the same on every platform.
struct RandomStream: Equatable, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// 0 up to, not including, 1.
    mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}

/// The FNV-1a hash of a token, by which millions of tokens are remembered. Two of ten million share a hash with a
/// probability of about 3 in 1,000,000.
enum TokenHash {
    static func of(_ token: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in token.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return hash
    }
}
