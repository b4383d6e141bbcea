/// Recipients in the producer's order, as parts of the text that named them: a job may name a million, and a `String` for
/// each would be a million allocations.
public struct RecipientList: Sendable {
    /// The text that names most of them.
    private let text: [UInt8]
    /// The other recipients, one after the other.
    private var others: [UInt8] = []
    /// The place of each in ``text`` followed by ``others``.
    private var spans: [Range<UInt32>] = []
    private var length = 0

    /// - Parameter text: names recipients; with those appended as a `String` less than 4 GiB.
    public init(within text: [UInt8] = []) { self.text = text }

    public init(_ recipients: some Sequence<String>) {
        self.init()
        for recipient in recipients { append(recipient) }
    }

    /// The same recipients without the text, if that is mostly something else: for longer storage.
    public var withoutRest: RecipientList {
        text.count > 2 * byteCount + 4_096 ? RecipientList(self) : self
    }

    /// The next recipient is that part of the text.
    public mutating func append(_ range: Range<Int>) {
        precondition(range.upperBound <= UInt32.max, "recipients of one list are longer than 4 GiB")
        spans.append(UInt32(range.lowerBound)..<UInt32(range.upperBound))
        length += range.count
    }

    /// The next recipient, which is no part of the text.
    public mutating func append(_ recipient: String) {
        let start = text.count + others.count
        others.append(contentsOf: recipient.utf8)
        append(start..<text.count + others.count)
    }

    /// Bytes of all of them, one a line.
    public var byteCount: Int { byteCount(0..<count) }

    /// Bytes of so many recipients, one a line.
    public func byteCount(_ range: Range<Int>) -> Int {
        if range.count == count { return length + Swift.max(0, count - 1) }
        return spans[range].reduce(Swift.max(0, range.count - 1)) { $0 + $1.count }
    }

    /// So many recipients as one text, one a line, the last without its end.
    public func lines(_ range: Range<Int>) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(byteCount(range))
        var done = 0
        appendLines(range, from: &done, to: &lines)
        return lines
    }

    /// Appends so many recipients, one a line, the last without its end, until `output` has `most` bytes and a few more.
    ///
    /// - Parameter done: how many of them were appended before; grows.
    public func appendLines(
        _ range: Range<Int>,
        from done: inout Int,
        to output: inout [UInt8],
        most: Int = .max
    ) {
        while done < range.count, output.count < most {
            output.append(contentsOf: shared(range.lowerBound + done).bytes)
            done += 1
            if done < range.count { output.append(UInt8(ascii: "\n")) }
        }
    }

    /// One of them, without a text of its own.
    public func shared(_ position: Int) -> SharedText {
        let (start, end) = (Int(spans[position].lowerBound), Int(spans[position].upperBound))
        // An empty one may stand at the end of either.
        guard start >= text.count else { return SharedText(start..<end, of: text) }
        return SharedText(start - text.count..<end - text.count, of: others)
    }
}

extension RecipientList: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { spans.count }

    public subscript(position: Int) -> String { shared(position).string }
}

/// Whatever they are parts of.
extension RecipientList: Equatable {
    public static func == (one: RecipientList, other: RecipientList) -> Bool {
        one.count == other.count && one.indices.allSatisfy { one.shared($0) == other.shared($0) }
    }
}

extension RecipientList: ExpressibleByArrayLiteral {
    public init(arrayLiteral recipients: String...) { self.init(recipients) }
}

extension Target {
    public static func tokens(_ tokens: some Sequence<String>) -> Target { .tokens(RecipientList(tokens)) }
    public static func fids(_ fids: some Sequence<String>) -> Target { .fids(RecipientList(fids)) }
}
