internal import FanfareModel

/// The name of a placeholder: a letter or `_`, then at most 31 letters, digits or `_`, all ASCII.
///
/// The name is stored in place, so that comparing two names neither allocates nor follows a reference.
public struct PlaceholderName: Hashable, Sendable {
    /// Bytes of the longest name.
    public static let maximumLength = 32
    /// The rule for names as errors spell it.
    public static let pattern = "[A-Za-z_][A-Za-z0-9_]{0,31}"

    // No name has a zero byte, so the bytes after a shorter one are zero.
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    /// - Parameter text: the name without braces; nil is returned if it breaks the rule for names.
    public init?(_ text: some Collection<UInt8>) {
        guard let initial = text.first, text.count <= Self.maximumLength, !initial.isASCIIDigit else { return nil }
        var (word, at) = (UInt64(0), 0)
        for byte in text {
            guard Self.isNameByte(byte) else { return nil }
            word |= UInt64(byte) << UInt64((at & 7) * 8)
            at += 1
            if at & 7 == 0 {
                setWord(at / 8 - 1, to: word)
                word = 0
            }
        }
        if at & 7 != 0 { setWord(at / 8, to: word) }
    }

    static func isNameByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") }

    /// The name as a `String`.
    public var text: String {
        var bytes: [UInt8] = []
        for word in [first, second, third, fourth] {
            for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> (index * 8))) }
        }
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private mutating func setWord(_ index: Int, to word: UInt64) {
        switch index {
        case 0: first = word
        case 1: second = word
        case 2: third = word
        default: fourth = word
        }
    }
}

extension PlaceholderName: CustomStringConvertible {
    public var description: String { text }
}
