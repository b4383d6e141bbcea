/// Decodes base64 (RFC 4648).
enum Base64Text {
    /// Section 4, with padding.
    static func decodePadded(_ text: String) -> [UInt8]? {
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard text.utf8.count % 4 == 0, padding <= 2 else { return nil }
        return decode(text.utf8.dropLast(padding), last: (UInt8(ascii: "+"), UInt8(ascii: "/")))
    }

    /// Section 5, without padding.
    static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(text, last: (UInt8(ascii: "-"), UInt8(ascii: "_")))
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
