internal import FanfareJSON
public import FanfareModel

/// The alphabets of names that travel in URLs, JSON and logs. All are ASCII, so bytes are characters.
public enum RecipientRules {
    /// Registration tokens, installation ids and group keys.
    static let tokenLength = 1_024
    static let topicLength = 900
    static let idLength = 128

    static func checkToken(_ bytes: some Collection<UInt8>, at path: String) throws(EntryFault) {
        try check(bytes, at: path, length: tokenLength, alphabet: "A-Z a-z 0-9 _ : . -", allows: isTokenByte)
    }

    /// The rule that a registration token breaks; nil for a valid one.
    public static func tokenFault(_ bytes: some Collection<UInt8>) -> String? {
        do throws(EntryFault) {
            try checkToken(bytes, at: "")
            return nil
        } catch {
            return error.rule
        }
    }

    static func checkID(_ bytes: some Collection<UInt8>, at path: String) throws(EntryFault) {
        try check(bytes, at: path, length: idLength, alphabet: "A-Z a-z 0-9 . _ : -", allows: isTokenByte)
    }

    static func checkTopicName(_ bytes: some Collection<UInt8>, at path: String) throws(EntryFault) {
        try check(bytes, at: path, length: topicLength, alphabet: "A-Z a-z 0-9 - _ . ~ %", allows: isTopicByte)
    }

    /// The bare name of a topic given with or without `/topics/`.
    static func topicName(_ bytes: [UInt8], at path: String) throws(EntryFault) -> String {
        let prefix = Array("/topics/".utf8)
        let name = bytes.starts(with: prefix) ? bytes.dropFirst(prefix.count) : bytes[...]
        try checkTopicName(name, at: path)
        return String(decoding: name, as: UTF8.self)
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return true
        case UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"): return true
        default: return false
        }
    }

    /// Whether ``checkToken(_:at:)`` accepts the text. Called for every send.
    public static func isToken(_ text: String) -> Bool {
        (1...tokenLength).contains(text.utf8.count) && WideBytes.none(of: text, othersThanToken)
    }

    /// The same for UTF-8 bytes.
    public static func isToken(_ text: SharedText) -> Bool {
        guard (1...tokenLength).contains(text.count) else { return false }
        return unsafe text.withUnsafeBytes { unsafe WideBytes.none(of: $0, othersThanToken) }
    }

    /// The position of the first byte from `start` on that a token may not have; the count if there is none.
    static func endOfToken(in bytes: [UInt8], from start: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            var at = start
            // Usually both words belong to the token.
            while at + 16 <= bytes.count {
                let one = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let two = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self))
                guard othersThanToken(one) | othersThanToken(two) == 0 else { break }
                at += 16
            }
            while at + 8 <= bytes.count {
                let part = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                let others = othersThanToken(part)
                guard others == 0 else { return at + others.trailingZeroBitCount / 8 }
                at += 8
            }
            while at < bytes.count, isTokenByte(unsafe bytes[at]) { at += 1 }
            return at
        }
    }

    /// The high bit of each byte of the part that ``isTokenByte(_:)`` does not allow.
    @inline(__always)
    private static func othersThanToken(_ part: UInt64) -> UInt64 {
        // Non-ASCII bytes are cleared first, so that no carry crosses into the next byte.
        let ascii = part & ~WideBytes.highs
        let allowed =
            WideBytes.within("a", "z", in: ascii | 0x2020_2020_2020_2020)
            | WideBytes.within("0", ":", in: ascii) | WideBytes.within("-", ".", in: ascii)
            | WideBytes.within("_", "_", in: ascii)
        return (part & WideBytes.highs) | (allowed ^ WideBytes.highs)
    }

    static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "~"), UInt8(ascii: "%"): return true
        default: return isTokenByte(byte) && byte != UInt8(ascii: ":")
        }
    }

    /// The fault never quotes the text: a token is a secret.
    private static func check(
        _ bytes: some Collection<UInt8>,
        at path: String,
        length: Int,
        alphabet: String,
        allows: (UInt8) -> Bool
    ) throws(EntryFault) {
        try require(!bytes.isEmpty, path, "empty")
        try require(bytes.count <= length, path, "\(bytes.count) characters, at most \(length)")
        for (offset, byte) in bytes.enumerated() where !allows(byte) {
            throw EntryFault(path, "byte \(offset) is not one of \(alphabet)")
        }
    }
}
