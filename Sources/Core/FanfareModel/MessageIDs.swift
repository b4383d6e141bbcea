/// The ids that an answer gives to the messages of a request for many, as parts of one text: a text of its own for each
/// would be a thousand allocations. As a rule that text is the answer's whole body, so this is for as long as the answer
/// is looked at. A recipient may have none.
public struct MessageIDs: Equatable, Sendable {
    private var text: [UInt8]
    /// Of each recipient where its id stands in the text; below nothing where it has none.
    private var spans: [(start: Int32, end: Int32)] = []

    /// - Parameter text: what ids may be parts of. Less than 2 GiB.
    public init(within text: [UInt8] = []) { self.text = text }

    /// How many recipients, with an id or without.
    public var count: Int { spans.count }

    public mutating func reserve(_ count: Int) { spans.reserveCapacity(count) }

    /// The next recipient's id is that part of the text.
    public mutating func append(_ range: Range<Int>) {
        spans.append((Int32(range.lowerBound), Int32(range.upperBound)))
    }

    /// The next recipient's id, which is no part of the text yet; it may be empty.
    public mutating func append(_ id: String) {
        let start = text.count
        text.append(contentsOf: id.utf8)
        append(start..<text.count)
    }

    /// The next recipient has none.
    public mutating func appendNone() { spans.append((-1, -1)) }

    public func has(_ index: Int) -> Bool { spans[index].start >= 0 }

    /// Of a recipient that has one: its bytes, UTF-8.
    public subscript(index: Int) -> ArraySlice<UInt8> { text[Int(spans[index].start)..<Int(spans[index].end)] }

    public static func == (one: MessageIDs, other: MessageIDs) -> Bool {
        one.count == other.count
            && (0..<one.count).allSatisfy { index in
                one.has(index) == other.has(index) && (!one.has(index) || one[index] == other[index])
            }
    }
}
