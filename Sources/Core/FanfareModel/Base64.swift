/// Base64 of RFC 4648: `encode` and `decode` are section 4, with padding; `encodeURL` and `decodeURL` are section 5,
/// without.
public enum Base64 {
    private static let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text = encode(bytes, last: "+/")
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }

    public static func encodeURL(_ bytes: some Collection<UInt8>) -> [UInt8] { encode(bytes, last: "-_") }

    /// - Returns: nil for text that is not base64 with its padding.
    public static func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard text.count % 4 == 0, padding <= 2 else { return nil }
        return decode(text.dropLast(padding), last: (UInt8(ascii: "+"), UInt8(ascii: "/")))
    }

    /// - Returns: nil for text that is not base64url without padding.
    public static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(text, last: (UInt8(ascii: "-"), UInt8(ascii: "_")))
    }

    /// - Parameter last: the last two characters of the alphabet.
    private static func encode(_ bytes: some Collection<UInt8>, last: String) -> [UInt8] {
        let alphabet = Array((digits + last).utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return text
    }

    /// - Parameter last: the last two characters of the alphabet.
    private static func decode(_ text: some Collection<UInt8>, last: (UInt8, UInt8)) -> [UInt8]? {
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in text {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case last.0: value = 62
            case last.1: value = 63
            default: return nil
            }
            bits = (bits << 6 | UInt32(value)) & 0xFF_FFFF
            count += 6
            if count >= 8 {
                count -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return count == 6 ? nil : result
    }
}
