public import FanfareModel

/// The results of one flush as they travel: indexes and letters side by side, and the objects as one text, so that a
/// thousand of them are neither a thousand words for Redis to take apart nor a thousand allocations.
public struct ResultBuffer: Equatable, Sendable {
    /// What the object of a result is for.
    public enum Object: Equatable, Sendable {
        /// The job's results stream gets it.
        case wanted
        /// The stream gets it only if the result turns out to be in doubt.
        case spare
        /// There is none.
        case none
    }

    private struct Item: Equatable, Sendable {
        var index: Int
        /// Bytes of its object; 0 when it has none.
        var length: UInt32
        var status: RecordCall.Status
        var object: Object
        var maybeDup: Bool
    }

    /// Bytes of the usual object, in its brackets: of most flushes of single jobs it is the only one.
    private static let firstRoom = 384
    /// Bytes of objects up to which they are copied into their command: one piece of memory costs less to write than two.
    private static let mostCopied = 4_096

    private var items: [Item] = []
    /// The objects that the results stream gets, as they travel: nothing, or a list in its brackets.
    private var objects: [UInt8] = []
    /// The spare objects, one behind the other.
    private var spares: [UInt8] = []

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }
    /// The results without their objects.
    public var statuses: [(index: Int, status: RecordCall.Status, maybeDup: Bool)] {
        items.map { ($0.index, $0.status, $0.maybeDup) }
    }
    /// Bytes that are copied to travel, about.
    var byteCount: Int { (objects.count <= Self.mostCopied ? objects.count : 0) + 8 * items.count }

    /// - Parameters:
    ///   - index: the recipient's, in the order the producer gave.
    ///   - maybeDup: whether the object says so.
    ///   - write: writes the object, `i` first. It is not called where there is none.
    public mutating func append(
        index: Int,
        status: RecordCall.Status,
        object: Object = .none,
        maybeDup: Bool = false,
        write: (inout [UInt8]) -> Void = { _ in }
    ) {
        var item = Item(index: index, length: 0, status: status, object: object, maybeDup: maybeDup)
        switch object {
        case .wanted: item.length = appendObject(write)
        case .spare:
            Self.grow(&spares)
            let start = spares.count
            write(&spares)
            item.length = UInt32(spares.count - start)
        case .none: break
        }
        items.append(item)
    }

    /// - Returns: the object's bytes.
    private mutating func appendObject(_ write: (inout [UInt8]) -> Void) -> UInt32 {
        if objects.isEmpty {
            objects.reserveCapacity(Self.firstRoom)
            objects.append(UInt8(ascii: "["))
        } else {
            Self.grow(&objects)
            objects[objects.count - 1] = UInt8(ascii: ",")
        }
        let start = objects.count
        write(&objects)
        let length = objects.count - start
        objects.append(UInt8(ascii: "]"))
        return UInt32(length)
    }

    /// Doubles the memory before it is full: a writer that asks for exactly what it needs would have it copied each time.
    private static func grow(_ bytes: inout [UInt8]) {
        if bytes.capacity - bytes.count < firstRoom { bytes.reserveCapacity(2 * bytes.capacity + firstRoom) }
    }

    /// Reserves memory for so many results that are like the first one.
    public mutating func reserve(_ count: Int) {
        guard items.count == 1, count > 1 else { return }
        items.reserveCapacity(count)
        // The first may be anything that an answer can hold.
        if !objects.isEmpty { objects.reserveCapacity(count * min(objects.count + 16, Self.mostCopied)) }
        if !spares.isEmpty { spares.reserveCapacity(count * min(spares.count + 16, Self.mostCopied)) }
    }

    /// Appends the results of another flush.
    public mutating func append(_ others: ResultBuffer) {
        items += others.items
        spares += others.spares
        guard !objects.isEmpty, !others.objects.isEmpty else { return objects += others.objects }
        objects[objects.count - 1] = UInt8(ascii: ",")
        objects += others.objects.dropFirst()
    }

    /// The results that ``append(_:)`` put together, with so many in each part.
    public func divided(into counts: [Int]) -> [ResultBuffer] {
        var rest = items[...]
        var nextObject = 1
        var nextSpare = 0
        return counts.map { count in
            var part = ResultBuffer()
            for item in rest.prefix(count) {
                let length = Int(item.length)
                switch item.object {
                case .wanted:
                    part.copy(item, objects[nextObject..<nextObject + length])
                    nextObject += length + 1
                case .spare:
                    part.copy(item, spares[nextSpare..<nextSpare + length])
                    nextSpare += length
                case .none: part.copy(item, [])
                }
            }
            rest = rest.dropFirst(count)
            return part
        }
    }

    private mutating func copy(_ item: Item, _ object: ArraySlice<UInt8>) {
        append(index: item.index, status: item.status, object: item.object, maybeDup: item.maybeDup) { bytes in
            bytes.append(contentsOf: object)
        }
    }

    /// The same results, each flagged as one that its recipient may have got twice. The stream gets the spare objects, too.
    public func flaggedMaybeDuplicate() -> ResultBuffer {
        var flagged = ResultBuffer()
        var nextObject = 1
        var nextSpare = 0
        for item in items {
            let length = Int(item.length)
            let object: ArraySlice<UInt8>
            switch item.object {
            case .wanted:
                object = objects[nextObject..<nextObject + length]
                nextObject += length + 1
            case .spare:
                object = spares[nextSpare..<nextSpare + length]
                nextSpare += length
            case .none:
                flagged.append(index: item.index, status: item.status, maybeDup: true)
                continue
            }
            flagged.append(index: item.index, status: item.status, object: .wanted, maybeDup: true) { bytes in
                guard !item.maybeDup else { return bytes.append(contentsOf: object) }
                bytes.append(contentsOf: object.dropLast())
                bytes.append(contentsOf: ",\"maybe_dup\":true}".utf8)
            }
        }
        return flagged
    }

    /// Appends the three words of a record call: indexes, letters and objects.
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
                bytes.append(item.object == .wanted ? item.status.letter & 0xDF : item.status.letter)
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
