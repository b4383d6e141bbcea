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

    /// Bytes of the usual object, in its brackets: of most flushes of single jobs it is the only one.
    private static let firstRoom = 384
    /// Bytes of objects up to which they are copied into their command: one piece of memory costs less to write than two.
    /// Calls that go together are shorter as a rule (``FunctionLibrary/together(_:_:_:)`` copies them where they are not).
    private static let mostCopied = 4_096

    private var items: [Item] = []
    /// The objects that the results stream gets, as they travel: nothing, or a list in its brackets.
    private var objects: [UInt8] = []

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }
    /// Of what is copied to travel, about.
    var byteCount: Int { (objects.count <= Self.mostCopied ? objects.count : 0) + 8 * items.count }

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
            item.length = appendObject(object)
            item.isWanted = item.length > 0
        }
        items.append(item)
    }

    /// - Returns: its bytes; 0, and nothing done, where there is none.
    private mutating func appendObject(_ object: (inout [UInt8]) -> Void) -> UInt32 {
        if objects.isEmpty {
            objects.reserveCapacity(Self.firstRoom)
            objects.append(UInt8(ascii: "["))
        } else {
            objects[objects.count - 1] = UInt8(ascii: ",")
        }
        let start = objects.count
        object(&objects)
        let length = objects.count - start
        if length > 0 {
            objects.append(UInt8(ascii: "]"))
        } else if start == 1 {
            objects.removeAll(keepingCapacity: true)
        } else {
            objects[start - 1] = UInt8(ascii: "]")
        }
        return UInt32(length)
    }

    /// Room for the objects of so many results that are like the first one.
    public mutating func reserve(_ count: Int) {
        guard items.count == 1, count > 1 else { return }
        items.reserveCapacity(count)
        // Those that nobody asked for have none. The first may be anything that an answer can hold.
        guard !objects.isEmpty else { return }
        objects.reserveCapacity(count * min(objects.count + 16, Self.mostCopied))
    }

    /// At least half of the room is used, so that they may be kept as they are.
    public var isDense: Bool { 2 * objects.count >= objects.capacity && 2 * items.count >= items.capacity }

    /// The results of another flush behind these.
    public mutating func append(_ others: PackedResults) {
        items += others.items
        guard !objects.isEmpty, !others.objects.isEmpty else { return objects += others.objects }
        objects[objects.count - 1] = UInt8(ascii: ",")
        objects += others.objects.dropFirst()
    }

    /// What ``append(_:)`` put together, with so many results in each part.
    public func divided(into counts: [Int]) -> [PackedResults] {
        var rest = items[...]
        var next = 1
        return counts.map { count in
            var part = PackedResults()
            part.items = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let lengths = part.items.filter { $0.length > 0 }.map { Int($0.length) }
            guard !lengths.isEmpty else { return part }
            let end = next + lengths.reduce(0, +) + lengths.count - 1
            part.objects.reserveCapacity(end - next + 2)
            part.objects.append(UInt8(ascii: "["))
            part.objects += objects[next..<end]
            part.objects.append(UInt8(ascii: "]"))
            next = end + 1
            return part
        }
    }

    /// The same results, each marked as one that its recipient may have got twice, and all with their objects.
    ///
    /// - Parameter spare: writes the object of the next one that was not wanted, `i` first and with its mark; writes
    ///   nothing when there is none.
    public func doubted(spare: (inout [UInt8]) -> Void) -> PackedResults {
        var doubted = PackedResults()
        var next = 1
        for item in items {
            guard item.isWanted else {
                doubted.append(index: item.index, status: item.status, isWanted: true, maybeDup: true, object: spare)
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
        if objects.count <= Self.mostCopied { command.append(objects) } else { command.append(shared: objects[...]) }
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
