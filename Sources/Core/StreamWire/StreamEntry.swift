/// One entry of a stream, as XREADGROUP and XRANGE give it.
public struct StreamEntry: Sendable {
    public var id: String
    public var fields: [(name: String, value: [UInt8])]
    /// The bytes of each name that is not UTF-8, by its position in ``fields``, which shows it with U+FFFD.
    public private(set) var undecodedNames: [Int: [UInt8]] = [:]

    public var byteCount: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count } }

    /// The value of the first field with a name; nil where there is none.
    public subscript(_ name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

    /// The same value as text.
    public func text(_ name: String) -> String? { self[name].map { String(decoding: $0, as: UTF8.self) } }

    /// The time in the id, Unix milliseconds; nil where it is none.
    public var milliseconds: Int64? { Self.milliseconds(ofID: id) }

    /// The time in an entry's id, Unix milliseconds; nil where it is none, or lies beyond the year 5000.
    public static func milliseconds(ofID id: String) -> Int64? {
        id.firstIndex(of: "-").flatMap { Int64(id[..<$0]) }.flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil }
    }

    /// nil for an entry that was deleted while it was pending, whose fields are a null.
    public init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string, let flat = parts[1].array,
            flat.count.isMultiple(of: 2)
        else { return nil }
        self.id = id
        fields = []
        fields.reserveCapacity(flat.count / 2)
        for index in stride(from: 0, to: flat.count, by: 2) {
            let value = flat[index + 1].bytes ?? []
            if case .bulk(let bytes) = flat[index], let name = String(validating: bytes, as: UTF8.self) {
                fields.append((name, value))
            } else {
                if case .bulk(let bytes) = flat[index] { undecodedNames[fields.count] = bytes }
                fields.append((flat[index].string ?? "", value))
            }
        }
    }

    /// The entries of an XREADGROUP reply, by stream; empty for a null, the reply to a wait that timed out.
    public static func byStream(_ value: RedisValue) -> [(stream: String, entries: [StreamEntry])] {
        (value.array ?? []).compactMap { part in
            guard let pair = part.array, pair.count == 2, let stream = pair[0].string else { return nil }
            return (stream, (pair[1].array ?? []).compactMap { StreamEntry($0) })
        }
    }

    /// Whether an XREADGROUP reply has no entries.
    public static func isEmpty(_ value: RedisValue) -> Bool {
        (value.array ?? []).allSatisfy { $0.array?.last?.array?.isEmpty ?? true }
    }

    /// Whether an entry's id comes after another. A malformed id counts as 0.
    public static func isLater(_ id: String, than other: String) -> Bool {
        func parts(_ id: String) -> (UInt64, UInt64) {
            let parts = id.split(separator: "-").map { UInt64($0) ?? 0 }
            return (parts.first ?? 0, parts.count > 1 ? parts[1] : 0)
        }
        return parts(id) > parts(other)
    }

    /// The last id in an XREADGROUP reply of one stream, also of an entry that was deleted; nil when there is none.
    public static func lastID(_ value: RedisValue) -> String? {
        value.array?.first?.array?.last?.array?.last?.array?.first?.string
    }
}
