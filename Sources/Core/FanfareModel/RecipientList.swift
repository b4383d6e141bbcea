/// Recipients in the producer's order, as parts of the text that named them: a job may name a million, and a text of its
/// own for each would be a million allocations, before one is sent to.
public struct RecipientList: Sendable {
    /// What most of them are parts of.
    private let text: [UInt8]
    /// Those that are no part of it, one behind the other.
    private var others: [UInt8] = []
    /// Where each stands: in ``text``, or, from its end on, in ``others``.
    private var spans: [Span] = []
    private var length = 0

    private struct Span {
        var start: UInt32
        var end: UInt32
    }

    /// - Parameter text: what recipients may be parts of; with those that are none of it less than 4 GiB.
    public init(within text: [UInt8] = []) { self.text = text }

    public init(_ recipients: some Sequence<String>) {
        self.init()
        for recipient in recipients { append(recipient) }
    }

    /// The same recipients, and nothing of a text that is mostly something else: for what keeps them longer.
    public var withoutRest: RecipientList {
        text.count > 2 * byteCount + 4_096 ? RecipientList(self) : self
    }

    /// The next recipient is that part of the text.
    public mutating func append(_ range: Range<Int>) {
        precondition(range.upperBound <= UInt32.max, "recipients of one list are longer than 4 GiB")
        spans.append(Span(start: UInt32(range.lowerBound), end: UInt32(range.upperBound)))
        length += range.count
    }

    /// The next recipient, which is no part of the text; without a line's end where ``lines(_:)`` is to be taken apart
    /// again.
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
        return spans[range].reduce(Swift.max(0, range.count - 1)) { $0 + Int($1.end - $1.start) }
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
            output.append(contentsOf: bytes(range.lowerBound + done))
            done += 1
            if done < range.count { output.append(UInt8(ascii: "\n")) }
        }
    }

    /// One of them, without a text of its own.
    public func shared(_ position: Int) -> SharedText {
        let (place, isOther) = place(position)
        return SharedText(place, of: isOther ? others : text)
    }

    /// One of them, UTF-8.
    private func bytes(_ position: Int) -> ArraySlice<UInt8> {
        let (place, isOther) = place(position)
        return isOther ? others[place] : text[place]
    }

    private func place(_ position: Int) -> (Range<Int>, isOther: Bool) {
        let span = spans[position]
        let (start, end) = (Int(span.start), Int(span.end))
        // An empty one may stand at the end of either.
        guard start >= text.count else { return (start..<end, false) }
        return (start - text.count..<end - text.count, true)
    }
}

extension RecipientList: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { spans.count }

    public subscript(position: Int) -> String { String(decoding: bytes(position), as: UTF8.self) }
}

/// Whatever they are parts of.
extension RecipientList: Equatable {
    public static func == (one: RecipientList, other: RecipientList) -> Bool {
        one.count == other.count && one.indices.allSatisfy { one.bytes($0) == other.bytes($0) }
    }
}

extension RecipientList: ExpressibleByArrayLiteral {
    public init(arrayLiteral recipients: String...) { self.init(recipients) }
}

extension Target {
    public static func tokens(_ tokens: some Sequence<String>) -> Target { .tokens(RecipientList(tokens)) }
    public static func fids(_ fids: some Sequence<String>) -> Target { .fids(RecipientList(fids)) }
}
