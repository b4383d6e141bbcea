public import FanfareModel

/// The constant parts of the object of a usual `sent` result.
///
/// A spare object may hold one byte, the raw value, for each: JSON text has no control characters. Tens of thousands of
/// spare objects are in memory at a time.
public enum ResultPhrase: UInt8, Sendable {
    case index = 1
    case token, sent, attempts

    @inlinable @inline(__always) public var text: StaticString {
        switch self {
        case .index: "{\"i\":"
        case .token: ",\"token\":\""
        case .sent: "\",\"status\":\"sent\",\"message_id\":\""
        case .attempts: "\",\"attempts\":"
        }
    }
}

/// The results of one flush as their call carries them: all indexes in one word, all letters, and all objects.
public struct ResultBuffer: Equatable, Sendable {
    /// What the object of a result is for.
    public enum Object: Equatable, Sendable {
        /// The job's results stream gets it.
        case wanted
        /// The stream gets it only if the result turns out to be in doubt.
        case spare
        case none
    }

    private struct Item: Equatable, Sendable {
        /// Redis has a bit for each recipient of a job, so there are fewer than 2³².
        var index: UInt32
        /// Bytes of its object; 0 when it has none.
        var length: UInt32
        var fingerprint: TokenFingerprint
        var status: RecordCall.Status
        var object: Object
        var maybeDup: Bool
    }

    /// Bytes of a usual object in its brackets.
    private static let firstRoom = 384
    /// Bytes of objects up to which they are copied into their command: two pieces of memory cost more to write.
    private static let maximumCopied = 4_096

    private var items: [Item] = []
    /// The objects that the results stream gets, as they travel: nothing, or a list in its brackets.
    private var objects: [UInt8] = []
    /// The spare objects, one after the other.
    private var spares: [UInt8] = []
    /// The error of each failed result, in their order.
    private var failures: [FailureKind] = []

    public init() {}

    public var count: Int { items.count }
    public var isEmpty: Bool { items.isEmpty }
    /// The results without their objects.
    public var statuses: [(index: Int, status: RecordCall.Status, maybeDup: Bool)] {
        items.map { (Int($0.index), $0.status, $0.maybeDup) }
    }
    /// Bytes of all objects.
    public var objectBytes: Int { objects.count + spares.count }
    /// Bytes that are copied to travel, about.
    var byteCount: Int { (objects.count <= Self.maximumCopied ? objects.count : 0) + 8 * items.count }

    /// - Parameters:
    ///   - index: the recipient's, in the order the producer gave.
    ///   - maybeDup: whether the object says so.
    ///   - failure: of a failed result.
    ///   - fingerprint: of its recipient.
    ///   - write: writes the object, `i` first. It is not called where there is none. A spare object may hold the raw value of
    ///     a ``ResultPhrase`` for its text.
    public mutating func append(
        index: Int,
        status: RecordCall.Status,
        object: Object = .none,
        maybeDup: Bool = false,
        failure: FailureKind? = nil,
        fingerprint: TokenFingerprint = .none,
        write: (inout [UInt8]) -> Void = { _ in }
    ) {
        if status == .failed { failures.append(failure ?? FailureKind(.unspecified, .none)) }
        var item = Item(
            index: UInt32(clamping: index),
            length: 0,
            fingerprint: fingerprint,
            status: status,
            object: object,
            maybeDup: maybeDup
        )
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
        if !objects.isEmpty { objects.reserveCapacity(count * min(objects.count + 16, Self.maximumCopied)) }
        if !spares.isEmpty { spares.reserveCapacity(count * min(spares.count + 16, Self.maximumCopied)) }
    }

    /// Reserves memory for as many results as another buffer holds, and an eighth more.
    public mutating func reserve(like other: ResultBuffer) {
        items.reserveCapacity(other.items.count * 9 / 8)
        objects.reserveCapacity(other.objects.count * 9 / 8)
        spares.reserveCapacity(other.spares.count * 9 / 8)
    }

    public mutating func append(_ others: ResultBuffer) {
        items += others.items
        if !others.spares.isEmpty { spares += others.spares }
        if !others.failures.isEmpty { failures += others.failures }
        guard !objects.isEmpty, !others.objects.isEmpty else { return objects += others.objects }
        objects[objects.count - 1] = UInt8(ascii: ",")
        objects += others.objects[1...]
    }

    /// Each result with its object, which is empty where there is none, and the error of a failed one.
    private var itemsWithObjects: [(item: Item, object: ArraySlice<UInt8>, failure: FailureKind?)] {
        var nextObject = 1
        var nextSpare = 0
        var nextFailure = 0
        return items.map { item in
            let length = Int(item.length)
            let failure = item.status == .failed ? failures[nextFailure] : nil
            if failure != nil { nextFailure += 1 }
            switch item.object {
            case .wanted:
                defer { nextObject += length + 1 }
                return (item, objects[nextObject..<nextObject + length], failure)
            case .spare:
                defer { nextSpare += length }
                return (item, spares[nextSpare..<nextSpare + length], failure)
            case .none: return (item, [], failure)
            }
        }
    }

    /// The results that ``append(_:)`` put together, with so many in each part.
    public func divided(into counts: [Int]) -> [ResultBuffer] {
        var rest = itemsWithObjects[...]
        return counts.map { count in
            var part = ResultBuffer()
            for (item, object, failure) in rest.prefix(count) {
                part.append(
                    index: Int(item.index),
                    status: item.status,
                    object: item.object,
                    maybeDup: item.maybeDup,
                    failure: failure,
                    fingerprint: item.fingerprint
                ) { $0 += object }
            }
            rest = rest.dropFirst(count)
            return part
        }
    }

    /// The same results, each flagged as one that its recipient may have got twice. The stream gets the spare objects, too.
    public func flaggedMaybeDuplicate() -> ResultBuffer {
        var flagged = ResultBuffer()
        for (item, object, failure) in itemsWithObjects {
            let target: Object = item.object == .none ? .none : .wanted
            flagged.append(
                index: Int(item.index),
                status: item.status,
                object: target,
                maybeDup: true,
                failure: failure,
                fingerprint: item.fingerprint
            ) { bytes in
                Self.appendInFull(item.maybeDup ? object : object.dropLast(), to: &bytes)
                if !item.maybeDup { bytes += ",\"maybe_dup\":true}".utf8 }
            }
        }
        return flagged
    }

    /// Appends an object with the text of each phrase.
    private static func appendInFull(_ object: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        for byte in object {
            if let phrase = ResultPhrase(rawValue: byte) {
                bytes += phrase.text.description.utf8
            } else {
                bytes.append(byte)
            }
        }
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
        if objects.count <= Self.maximumCopied { command.append(objects) } else { command.append(shared: objects[...]) }
    }

    /// Appends what a short call says of its one result: its letter, its object in brackets, or nothing, and its fingerprint.
    func appendSingle(to command: inout RedisCommand, isIndexed: Bool) {
        let item = items[0]
        command.append { $0.append(item.object == .wanted ? item.status.letter & 0xDF : item.status.letter) }
        command.append(objects)
        command.append { if isIndexed, item.object == .wanted { item.fingerprint.append(to: &$0) } }
    }

    /// The field of the job's hash that counts the error of its first failed result; nil when none failed.
    var failureField: String? { failures.first.map { "error.\($0.text)" } }

    /// Whether one of its results has a status that an attempt did not bring.
    var hasUnsentStatus: Bool { items.contains { $0.status == .cancelled || $0.status == .expired } }

    /// Appends the name `errors`, the errors of the failed results, and a letter for each of these results: `a` for the
    /// first error. Nothing if no result failed.
    func appendErrors(to command: inout RedisCommand) {
        guard !failures.isEmpty else { return }
        var kinds: [FailureKind] = []
        let places = failures.map { failure in
            if let place = kinds.firstIndex(of: failure) { return place }
            kinds.append(failure)
            return kinds.count - 1
        }
        command.append("errors")
        command.append { bytes in
            for kind in kinds {
                bytes.append(contentsOf: kind.text.utf8)
                bytes.append(UInt8(ascii: " "))
            }
            for place in places { bytes.append(UInt8(ascii: "a") + UInt8(truncatingIfNeeded: place)) }
        }
    }

    /// Results that say that their recipient may have got the message twice.
    public var flagged: Int { items.count { $0.maybeDup } }

    /// Appends the name `flagged`, and a digit for each result up to the last flagged one: 1 for a flagged one, 0 for any
    /// other. Nothing if none is flagged.
    func appendFlags(to command: inout RedisCommand) {
        guard let last = items.lastIndex(where: { $0.maybeDup }) else { return }
        command.append("flagged")
        command.append { bytes in
            for item in items[...last] { bytes.append(UInt8(ascii: item.maybeDup ? "1" : "0")) }
        }
    }

    /// Appends the name `prints` and the fingerprint of each wanted result; nothing where none is wanted.
    func appendFingerprints(to command: inout RedisCommand) {
        guard !objects.isEmpty else { return }
        command.append("prints")
        command.append { bytes in
            for item in items where item.object == .wanted { item.fingerprint.append(to: &bytes) }
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
