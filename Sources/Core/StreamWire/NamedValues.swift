/// Names, each followed by its value: a hash, or the reply of a function. Callers ignore names that they do not know.
public struct NamedValues: Sendable {
    private let flat: [RedisValue]
    /// The reply of a function that answers one word.
    private let word: String?

    /// nil when it is neither a word nor a list of pairs.
    public init?(_ value: RedisValue) {
        flat = value.array ?? []
        word = value.array == nil ? value.string : nil
        guard word != nil || value.array != nil, flat.count.isMultiple(of: 2) else { return nil }
    }

    /// The word of a function's reply, alone or among further values; nil for a hash.
    public var outcome: String? { word ?? text("outcome") }

    public subscript(_ name: String) -> RedisValue? {
        let count = name.utf8.count
        var index = 0
        while index < flat.count {
            // Most names differ in their length.
            if case .bulk(let bytes) = flat[index], bytes.count == count, bytes.elementsEqual(name.utf8) {
                return flat[index + 1]
            }
            index += 2
        }
        return nil
    }

    public func text(_ name: String) -> String? { self[name]?.string }

    public func number(_ name: String) -> Int64? { self[name]?.integer }

    /// A number from 0 to 10¹⁵, so that sums of it cannot overflow; 0 where there is none.
    package func count(_ name: String) -> Int64 { max(0, Self.bounded(number(name) ?? 0)) }

    /// A number of at most 10¹⁵ either way, so that sums and differences of such numbers cannot overflow.
    package static func bounded(_ number: Int64) -> Int64 {
        min(1_000_000_000_000_000, max(-1_000_000_000_000_000, number))
    }

    /// Whether a flag is set; a flag that is not there is not.
    public func flag(_ name: String) -> Bool { number(name) ?? 0 != 0 }

    /// The values of a list; empty where there is none.
    public func list(_ name: String) -> [RedisValue] { self[name]?.array ?? [] }

    /// All values by their names; names that are no text are left out.
    var byName: [String: RedisValue] {
        let pairs = stride(from: 0, to: flat.count, by: 2).compactMap { at in
            flat[at].string.map { ($0, flat[at + 1]) }
        }
        return Dictionary(pairs) { _, last in last }
    }

    /// A reply lacks a value, or holds another type of it.
    struct MissingValue: Error {}

    /// A value that a reply must hold.
    static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw MissingValue() }
        return value
    }
}
