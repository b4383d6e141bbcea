public import FanfareModel

/// SHA-256 of a key. Two digests are compared in constant time, and printing shows none.
public struct KeyDigest: Hashable, Sendable, Redacted {
    public static let byteCount = 32

    /// The digest, eight bytes each, the first byte highest.
    private let first, second, third, fourth: UInt64

    /// - Returns: nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        func word(at start: Int) -> UInt64 {
            var word: UInt64 = 0
            for index in start..<start + 8 { word = word << 8 | UInt64(bytes[index]) }
            return word
        }
        (first, second, third, fourth) = (word(at: 0), word(at: 8), word(at: 16), word(at: 24))
    }

    /// - Returns: nil unless the text is 64 hexadecimal digits, in either case.
    public init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count, digits.count == 2 * Self.byteCount else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    /// 64 hexadecimal digits in lower case.
    public var hexadecimal: String {
        [first, second, third, fourth].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }.hexadecimal
    }

    public static func == (left: KeyDigest, right: KeyDigest) -> Bool {
        let difference =
            (left.first ^ right.first) | (left.second ^ right.second) | (left.third ^ right.third)
            | (left.fourth ^ right.fourth)
        return difference == 0
    }

    public var description: String { "[digest]" }
}
