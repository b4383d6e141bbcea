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
