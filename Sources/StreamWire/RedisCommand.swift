/// One Redis command: its words, binary-safe, kept in one buffer so that building one costs one allocation.
public struct RedisCommand: Equatable, Sendable {
    /// All words, one after the other.
    public private(set) var bytes: [UInt8] = []
    /// Where each word ends in ``bytes``.
    public private(set) var ends: [Int] = []

    public init(_ name: String, _ arguments: String...) {
        append(name)
        for argument in arguments { append(argument) }
    }

    /// A command without arguments yet, and with room for them.
    init(_ name: String, bytes count: Int, words: Int) {
        reserve(bytes: count, words: words)
        append(name)
    }

    public mutating func append(_ word: String) {
        bytes.append(contentsOf: word.utf8)
        ends.append(bytes.count)
    }

    public mutating func append(_ word: some Collection<UInt8>) {
        bytes.append(contentsOf: word)
        ends.append(bytes.count)
    }

    /// Room for so many bytes more, in so many words.
    public mutating func reserve(bytes count: Int, words: Int) {
        bytes.reserveCapacity(bytes.count + count)
        ends.reserveCapacity(ends.count + words)
    }

    /// A word that is written where it is to stand.
    public mutating func append(writing word: (inout [UInt8]) -> Void) {
        word(&bytes)
        ends.append(bytes.count)
    }

    public mutating func append(_ number: some SignedInteger & FixedWidthInteger) {
        append { $0.appendDecimal(Int64(number)) }
    }

    /// The number of another command's words from one of them on, and those words.
    mutating func appendCounted(_ other: RedisCommand, from first: Int) {
        append(other.count - first)
        let start = other.ends[first - 1]
        let shift = bytes.count - start
        bytes.append(contentsOf: other.bytes[start...])
        for end in other.ends[first...] { ends.append(end + shift) }
    }

    /// Number of words, the command's name included.
    public var count: Int { ends.count }

    /// One word, for tests and messages.
    public func word(_ index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}
