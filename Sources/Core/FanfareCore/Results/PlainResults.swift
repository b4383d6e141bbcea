public import FanfareModel

/// Usual results side by side in one text, in their order: large fan-outs keep tens of thousands of them, for the case
/// that they turn out to be in doubt, and two texts for each would be most of a worker's memory.
public struct PlainResults: Equatable, Sendable {
    private struct Item: Equatable, Sendable {
        var index: Int
        /// Bytes of the recipient, and of the message's id behind it.
        var recipient: UInt32
        var messageID: UInt32
        var attempts: Int32
        var kind: RecipientKind
    }

    private var items: [Item] = []
    private var text: [UInt8] = []

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }

    public mutating func append(_ result: PlainResult) {
        let start = text.count
        text.append(contentsOf: result.recipient.utf8)
        let middle = text.count
        text.append(contentsOf: result.messageID.utf8)
        add(result.index, result.kind, from: start, to: middle, attempts: result.attempts)
    }

    /// As ``append(_:)``, of parts of other texts, UTF-8.
    public mutating func append(
        index: Int,
        kind: RecipientKind,
        recipient: SharedText,
        messageID: ArraySlice<UInt8>,
        attempts: Int
    ) {
        let start = text.count
        text.append(contentsOf: recipient.bytes)
        let middle = text.count
        text.append(contentsOf: messageID)
        add(index, kind, from: start, to: middle, attempts: attempts)
    }

    private mutating func add(_ index: Int, _ kind: RecipientKind, from start: Int, to middle: Int, attempts: Int) {
        items.append(
            Item(
                index: index,
                recipient: UInt32(middle - start),
                messageID: UInt32(text.count - middle),
                attempts: Int32(clamping: attempts),
                kind: kind
            )
        )
    }

    /// Room for so many that are like the first one.
    public mutating func reserve(_ count: Int) {
        guard items.count == 1, count > 1 else { return }
        items.reserveCapacity(count)
        // The first may be anything that an answer can hold.
        text.reserveCapacity(count * Swift.min(text.count + 8, Self.mostOfOne))
    }

    private static let mostOfOne = 2_048

    /// At least half of the room is used, so that they may be kept as they are.
    public var isDense: Bool { 2 * text.count >= text.capacity && 2 * items.count >= items.capacity }

    /// Others behind these.
    public mutating func append(_ others: PlainResults) {
        items += others.items
        text += others.text
    }

    /// What ``append(_:)`` put together, with so many in each part.
    public func divided(into counts: [Int]) -> [PlainResults] {
        var (rest, left) = (items[...], text[...])
        return counts.map { count in
            var part = PlainResults()
            part.items = Array(rest.prefix(count))
            part.text = Array(left.prefix(part.items.reduce(0) { $0 + Int($1.recipient) + Int($1.messageID) }))
            rest = rest.dropFirst(count)
            left = left.dropFirst(part.text.count)
            return part
        }
    }
}

extension PlainResults: Sequence {
    public struct Iterator: IteratorProtocol {
        fileprivate let results: PlainResults
        fileprivate var position = 0
        fileprivate var at = 0

        public mutating func next() -> PlainResult? {
            guard position < results.items.count else { return nil }
            let item = results.items[position]
            let (middle, end) = (at + Int(item.recipient), at + Int(item.recipient) + Int(item.messageID))
            defer { (position, at) = (position + 1, end) }
            return PlainResult(
                index: item.index,
                kind: item.kind,
                recipient: String(decoding: results.text[at..<middle], as: UTF8.self),
                messageID: String(decoding: results.text[middle..<end], as: UTF8.self),
                attempts: Int(item.attempts)
            )
        }
    }

    public func makeIterator() -> Iterator { Iterator(results: self) }
}
