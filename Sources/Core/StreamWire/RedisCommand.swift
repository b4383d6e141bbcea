public import FanfareModel

/// One Redis command: its words, binary-safe, in one buffer, and large words in their own.
public struct RedisCommand: Equatable, Sendable {
    /// All words but shared ones, one after the other.
    public private(set) var bytes: [UInt8] = []
    /// The end of each word in ``bytes``. A shared word is not there: it ends where the word before it does.
    public private(set) var ends: [Int] = []
    /// Words that are not in ``bytes``, in their order.
    public private(set) var shared: [SharedWord] = []
    /// Whether it holds the words of a short call, without the head of a command.
    public private(set) var isShort = false

    /// A word that stays in another buffer and is copied only when the command is written.
    public struct SharedWord: Equatable, Sendable {
        enum Content: Equatable, Sendable {
            case bytes(ArraySlice<UInt8>)
            /// Recipients, one a line.
            case lines(RecipientList, Range<Int>)
        }

        /// Its place among the command's words.
        public let index: Int
        let content: Content
        public let count: Int
    }

    public init(_ name: String, _ arguments: String...) {
        append(name)
        for argument in arguments { append(argument) }
    }

    /// The words of a short call, see ``CompactJob``: a part of a command, and none of its own.
    init(shortCall bytes: Int, words: Int) {
        reserve(bytes: bytes, words: words)
        isShort = true
    }

    /// The arguments of a function, without the head of a command.
    init(bytes count: Int, words: Int) { reserve(bytes: count, words: words) }

    /// A command without arguments yet, and with room for them.
    init(_ name: String, bytes count: Int, words: Int) {
        reserve(bytes: count, words: words)
        append(name)
    }

    public mutating func append(_ word: String) { append(word.utf8) }

    public mutating func append(_ word: some Collection<UInt8>) {
        bytes.append(contentsOf: word)
        ends.append(bytes.count)
    }

    /// Words of at least this many bytes are shared, so that memory holds them once.
    public static let large = 1 << 16

    /// Appends a word that stays in its own buffer until it is sent: for large words.
    public mutating func append(shared word: ArraySlice<UInt8>) {
        append(SharedWord(index: ends.count, content: .bytes(word), count: word.count))
    }

    /// Appends recipients, one a line; the text is made when the command is sent.
    public mutating func append(sharedLines range: Range<Int>, of list: RecipientList) {
        append(SharedWord(index: ends.count, content: .lines(list, range), count: list.byteCount(range)))
    }

    private mutating func append(_ word: SharedWord) {
        shared.append(word)
        ends.append(bytes.count)
    }

    public mutating func reserve(bytes count: Int, words: Int) {
        bytes.reserveCapacity(bytes.count + count)
        ends.reserveCapacity(ends.count + words)
    }

    /// Appends a word that the closure writes into the command's buffer.
    public mutating func append(writing word: (inout [UInt8]) -> Void) {
        word(&bytes)
        ends.append(bytes.count)
    }

    public mutating func append(_ number: some SignedInteger & FixedWidthInteger) {
        append { $0.appendDecimal(Int64(number)) }
    }

    /// Appends copies of another command's words from one of them on, after their number; that of a short call is negative.
    mutating func appendCounted(_ other: RedisCommand, from first: Int) {
        let first = other.isShort ? 0 : first
        append(other.isShort ? -other.count : other.count - first)
        guard other.shared.isEmpty else {
            for index in first..<other.count { append(other.word(index)) }
            return
        }
        let start = first == 0 ? 0 : other.ends[first - 1]
        let shift = bytes.count - start
        bytes.append(contentsOf: other.bytes[start...])
        for end in other.ends[first...] { ends.append(end + shift) }
    }

    /// Appends another command's words as one word: their lengths, each followed by a comma but the last, a colon, and the
    /// words.
    mutating func appendText(of other: RedisCommand) {
        var start = 0
        append { text in
            for end in other.ends {
                text.appendDecimal(Int64(end - start))
                text.append(UInt8(ascii: ","))
                start = end
            }
            text[text.count - 1] = UInt8(ascii: ":")
            text.append(contentsOf: other.bytes)
        }
    }

    /// Number of words, the command's name included.
    public var count: Int { ends.count }

    public var byteCount: Int { shared.reduce(bytes.count) { $0 + $1.count } }

    /// The bytes of a word. Each access makes a word of recipients again.
    public func word(_ index: Int) -> ArraySlice<UInt8> {
        switch sharedWord(index)?.content {
        case .bytes(let word)?: return word
        case .lines(let list, let range)?: return list.lines(range)[...]
        case nil: return bytes[place(index)]
        }
    }

    public func wordCount(_ index: Int) -> Int { sharedWord(index)?.count ?? place(index).count }

    private func place(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    /// Appends a word, or the next part of it, until `output` has `most` bytes and a few more.
    ///
    /// - Parameter progress: how far it has come, 0 before; by the word's own measure.
    /// - Returns: whether that was all of it.
    public func appendPart(of index: Int, from progress: inout Int, to output: inout [UInt8], most: Int) -> Bool {
        if case .lines(let list, let range)? = sharedWord(index)?.content {
            list.appendLines(range, from: &progress, to: &output, most: most)
            return progress == range.count
        }
        let bytes = word(index)
        // One byte at least, or nothing would ever have begun.
        let part = bytes.dropFirst(progress).prefix(Swift.max(1, most - output.count))
        output.append(contentsOf: part)
        progress += part.count
        return progress == bytes.count
    }

    private func sharedWord(_ index: Int) -> SharedWord? {
        guard !shared.isEmpty else { return nil }
        var (low, high) = (0, shared.count)
        while low < high {
            let middle = (low + high) / 2
            if shared[middle].index < index { low = middle + 1 } else { high = middle }
        }
        return low < shared.count && shared[low].index == index ? shared[low] : nil
    }
}
