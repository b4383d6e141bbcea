/// Names, each followed by its value: a hash, or what a function of the library answers. A caller ignores the names that
/// it does not know, which a later text of the library may add.
public struct NamedValues: Sendable {
    private let flat: [RedisValue]

    /// nil when it is no list of pairs.
    public init?(_ value: RedisValue) {
        guard let flat = value.array, flat.count.isMultiple(of: 2) else { return nil }
        self.flat = flat
    }

    public subscript(_ name: String) -> RedisValue? {
        for index in stride(from: 0, to: flat.count, by: 2) {
            if case .bulk(let bytes) = flat[index], bytes.elementsEqual(name.utf8) { return flat[index + 1] }
        }
        return nil
    }

    public func text(_ name: String) -> String? { self[name]?.string }

    public func number(_ name: String) -> Int64? { self[name]?.integer }

    /// Whether a flag is set; a flag that is not there is not.
    public func flag(_ name: String) -> Bool { number(name) ?? 0 != 0 }

    /// The values of a list; empty where there is none.
    public func list(_ name: String) -> [RedisValue] { self[name]?.array ?? [] }
}

/// The reply of a function: a word, alone or as `outcome` among further values.
public struct FunctionReply: Sendable {
    public let outcome: String
    private let values: NamedValues?

    /// nil when it is neither a word nor a list of pairs with an outcome.
    public init?(_ value: RedisValue) {
        values = NamedValues(value)
        guard let outcome = values == nil ? value.string : values?.text("outcome") else { return nil }
        self.outcome = outcome
    }

    public subscript(_ name: String) -> RedisValue? { values?[name] }

    public func text(_ name: String) -> String? { values?.text(name) }

    public func number(_ name: String) -> Int64? { values?.number(name) }
}
