internal import FanfareModel

/// The results of one flush, as they travel: numbers and letters side by side, and the objects as one text, so that a
/// thousand of them are neither a thousand words for Redis to take apart nor a thousand allocations.
public struct PackedResults: Equatable, Sendable {
    private struct Item: Equatable, Sendable {
        var index: Int
        /// Bytes of its object; 0 when it has none.
        var length: UInt32
        var status: RecordCall.Status
        var isWanted: Bool
        var maybeDup: Bool
    }

    private var items: [Item] = []
    /// The objects that the results stream gets, with a comma between each two.
    private var objects: [UInt8] = []

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }
    /// Of what travels, about.
    var byteCount: Int { objects.count + 8 * items.count }

    /// - Parameters:
    ///   - index: the recipient's, in the order the producer gave.
    ///   - isWanted: whether the job's results policy asks for the object.
    ///   - maybeDup: whether the object says so.
    ///   - object: writes it, `i` first; writes nothing when there is none. Not asked where it is not wanted.
    public mutating func append(
        index: Int,
        status: RecordCall.Status,
        isWanted: Bool = false,
        maybeDup: Bool = false,
        object: (inout [UInt8]) -> Void = { _ in }
    ) {
        var item = Item(index: index, length: 0, status: status, isWanted: isWanted, maybeDup: maybeDup)
        if isWanted {
            let start = objects.count
            if start > 0 { objects.append(UInt8(ascii: ",")) }
            let first = objects.count
            object(&objects)
            item.length = UInt32(objects.count - first)
            if item.length == 0 {
                objects.removeSubrange(start...)
                item.isWanted = false
            }
        }
        items.append(item)
    }

    /// Room for the objects of so many results that are like the first one.
    public mutating func reserve(_ count: Int) {
        guard items.count == 1, count > 1 else { return }
        items.reserveCapacity(count)
        objects.reserveCapacity(count * (objects.count + 16))
    }

    /// The results of another flush behind these.
    public mutating func append(_ others: PackedResults) {
        if !objects.isEmpty, !others.objects.isEmpty { objects.append(UInt8(ascii: ",")) }
        items += others.items
        objects += others.objects
    }

    /// What ``append(_:)`` put together, with so many results in each part.
    public func divided(into counts: [Int]) -> [PackedResults] {
        var rest = items[...]
        var next = 0
        return counts.map { count in
            var part = PackedResults()
            part.items = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let lengths = part.items.filter { $0.length > 0 }.map { Int($0.length) }
            guard !lengths.isEmpty else { return part }
            let end = next + lengths.reduce(0, +) + lengths.count - 1
            part.objects = Array(objects[next..<end])
            next = end + 1
            return part
        }
    }

    /// The same results, each marked as one that its recipient may have got twice, and all with their objects.
    ///
    /// - Parameter spare: writes the object of one that was not wanted, `i` first and with its mark, given how many such
    ///   stand before it; writes nothing when there is none.
    public func doubted(spare: (Int, inout [UInt8]) -> Void) -> PackedResults {
        var doubted = PackedResults()
        var (next, spares) = (0, 0)
        for item in items {
            guard item.isWanted else {
                doubted.append(index: item.index, status: item.status, isWanted: true, maybeDup: true) {
                    spare(spares, &$0)
                }
                spares += 1
                continue
            }
            let object = objects[next..<next + Int(item.length)]
            next += object.count + 1
            doubted.append(index: item.index, status: item.status, isWanted: true, maybeDup: true) { bytes in
                guard !item.maybeDup else { return bytes.append(contentsOf: object) }
                bytes.append(contentsOf: object.dropLast())
                bytes.append(contentsOf: ",\"maybe_dup\":true}".utf8)
            }
        }
        return doubted
    }

    /// The three words of a record call: indexes, letters and objects.
    func append(to command: inout RedisCommand) {
        command.append { bytes in
            bytes.append(UInt8(ascii: "["))
            for (position, item) in items.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.appendDecimal(Int64(item.index))
            }
            bytes.append(UInt8(ascii: "]"))
        }
        command.append { bytes in
            for item in items {
                bytes.append(item.isWanted ? item.status.letter & 0xDF : item.status.letter)
            }
        }
        command.append { bytes in
            guard !objects.isEmpty else { return }
            bytes.append(UInt8(ascii: "["))
            bytes.append(contentsOf: objects)
            bytes.append(UInt8(ascii: "]"))
        }
    }
}

extension RecordCall.Status {
    fileprivate var letter: UInt8 {
        switch self {
        case .sent: UInt8(ascii: "s")
        case .failed: UInt8(ascii: "f")
        case .unknown: UInt8(ascii: "u")
        case .cancelled: UInt8(ascii: "c")
        case .expired: UInt8(ascii: "x")
        }
    }
}
