/// Three bytes that stand for a recipient in the index of results by token. Redis keeps them, so they must not change.
public struct TokenFingerprint: Equatable, Sendable {
    /// Bytes of each.
    public static let byteCount = 3
    /// Stands for no recipient. One recipient in 16 million has the same three bytes.
    public static let none = TokenFingerprint(one: 0, two: 0, three: 0)

    // Single bytes fill gaps of a struct; a number of 32 bits would need its own four.
    private let one: UInt8
    private let two: UInt8
    private let three: UInt8

    private init(one: UInt8, two: UInt8, three: UInt8) { (self.one, self.two, self.three) = (one, two, three) }

    public init(of recipient: String) {
        let hash = ByteHash.of(recipient)
        one = UInt8(truncatingIfNeeded: hash)
        two = UInt8(truncatingIfNeeded: hash >> 8)
        three = UInt8(truncatingIfNeeded: hash >> 16)
    }

    public func append(to bytes: inout [UInt8]) {
        bytes.append(one)
        bytes.append(two)
        bytes.append(three)
    }

    /// Whether a list of fingerprints, one after the other, holds this one.
    public func isIn(_ list: [UInt8]) -> Bool {
        stride(from: 0, to: list.count - 2, by: Self.byteCount).contains { at in
            list[at] == one && list[at + 1] == two && list[at + 2] == three
        }
    }
}
