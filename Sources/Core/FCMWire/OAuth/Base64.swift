/// Base64 of RFC 4648.
enum Base64 {
    /// Section 4, with padding, for SASL.
    static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var text = encode(bytes, last: "+/")
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }

    /// Section 5, without padding, for JSON Web Tokens.
    static func encodeURL(_ bytes: some Collection<UInt8>) -> [UInt8] { encode(bytes, last: "-_") }

    private static func encode(_ bytes: some Collection<UInt8>, last: String) -> [UInt8] {
        let alphabet = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
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
}
