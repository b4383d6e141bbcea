/// Recipients in the producer's order, side by side in one text: a job may name a million of them, and a text of its own
/// for each would be a million allocations, before one is sent to.
public struct RecipientList: Equatable, Sendable {
    /// One a line, the last without its end.
    private var bytes: [UInt8] = []
    /// Where each ends in ``bytes``.
    private var ends: [Int] = []

    public init() {}

    public init(_ recipients: some Sequence<String>) {
        for recipient in recipients { append(recipient) }
    }

    /// - Parameter recipient: UTF-8, without a line's end where ``lines(_:)`` is to be taken apart again.
    public mutating func append(_ recipient: ArraySlice<UInt8>) {
        if !ends.isEmpty { bytes.append(UInt8(ascii: "\n")) }
        bytes.append(contentsOf: recipient)
        ends.append(bytes.count)
    }

    public mutating func append(_ recipient: String) { append(Array(recipient.utf8)[...]) }

    public mutating func reserve(bytes count: Int, recipients: Int) {
        bytes.reserveCapacity(count)
        ends.reserveCapacity(recipients)
    }

    /// Bytes of all of them, one a line.
    public var byteCount: Int { bytes.count }

    /// So many recipients as one text, one a line.
    public func lines(_ range: Range<Int>) -> ArraySlice<UInt8> {
        range.isEmpty ? [] : bytes[start(range.lowerBound)..<ends[range.upperBound - 1]]
    }

    /// One of them, without a text of its own.
    public func shared(_ position: Int) -> SharedText { SharedText(start(position)..<ends[position], of: bytes) }

    private func start(_ position: Int) -> Int { position == 0 ? 0 : ends[position - 1] + 1 }
}

extension RecipientList: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { ends.count }

    public subscript(position: Int) -> String {
        String(decoding: bytes[start(position)..<ends[position]], as: UTF8.self)
    }
}

extension RecipientList: ExpressibleByArrayLiteral {
    public init(arrayLiteral recipients: String...) { self.init(recipients) }
}

extension Target {
    public static func tokens(_ tokens: some Sequence<String>) -> Target { .tokens(RecipientList(tokens)) }
    public static func fids(_ fids: some Sequence<String>) -> Target { .fids(RecipientList(fids)) }
}
