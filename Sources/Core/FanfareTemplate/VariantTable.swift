public import FanfareModel

/// The variants of a personal job by name, and the base message for every other recipient.
public struct VariantTable<Value: Sendable>: Sendable {
    /// For recipients without a variant, and for those whose variant has no entry.
    public let base: Value
    private let variants: [SharedText: Value]
    private let longestName: Int

    /// - Parameter variants: each name once. Names are compared byte for byte.
    public init(base: Value, variants: [(name: String, value: Value)]) {
        self.base = base
        self.variants = Dictionary(variants.map { (SharedText($0.name), $0.value) }) { $1 }
        longestName = variants.map(\.name.utf8.count).max() ?? 0
    }

    /// The entry of exactly this name, else the one of the part before its first `-`, else the base.
    ///
    /// - Parameter variant: the recipient's, of any length; nil without one.
    public func value(for variant: SharedText?) -> Value {
        guard let variant, !variants.isEmpty else { return base }
        // Longer names need no hash.
        if variant.count <= longestName, let exact = variants[variant] { return exact }
        let end = variant.bytes.prefix(longestName + 1).firstIndex(of: UInt8(ascii: "-"))
        guard let end else { return base }
        return variants[variant.prefix(end - variant.bytes.startIndex)] ?? base
    }

    /// The names of the variants in the order of their bytes.
    public var names: [String] { sorted.map(\.key.string) }

    /// A table of the same names, with each value replaced.
    ///
    /// - Parameter change: called for the base with nil, then for each variant in the order of the names' bytes.
    public func map<New: Sendable, Failure: Error>(
        _ change: (_ name: String?, Value) throws(Failure) -> New
    ) throws(Failure) -> VariantTable<New> {
        let base = try change(nil, base)
        var changed: [(name: String, value: New)] = []
        for (name, value) in sorted {
            let name = name.string
            changed.append((name, try change(name, value)))
        }
        return VariantTable<New>(base: base, variants: changed)
    }

    private var sorted: [(key: SharedText, value: Value)] {
        variants.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    }
}
