public import FanfareModel

/// The variants of a personal job by name, and the base message for every other recipient.
public struct VariantTable<Value: Sendable>: Sendable {
    /// For recipients without a variant, or with a variant that has no entry.
    public let base: Value
    private let variants: [SharedText: Value]
    /// The variants that have `-` or `_` in their names, with `-` for `_`: languages are written both ways. Of two that are
    /// then equal the first by its bytes.
    private let folded: [SharedText: Value]
    private let longestName: Int

    /// - Parameter variants: each name once.
    public init(base: Value, variants: [(name: String, value: Value)]) {
        self.base = base
        self.variants = Dictionary(variants.map { (SharedText($0.name), $0.value) }) { $1 }
        let separated = self.variants.filter { $0.key.bytes.contains(where: Self.isSeparator) }
        let sorted = separated.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        folded = Dictionary(sorted.map { (Self.folding($0.key), $0.value) }) { first, _ in first }
        longestName = variants.map(\.name.utf8.count).max() ?? 0
    }

    /// The entry of exactly this name, else of the name with `-` for `_` or the reverse, else of the part before the first
    /// of both, else the base. Other bytes, letters of either case among them, are compared as they are.
    ///
    /// - Parameter variant: the recipient's, of any length; nil without one.
    public func value(for variant: SharedText?) -> Value {
        guard let variant, !variants.isEmpty else { return base }
        // Longer names need no hash.
        if variant.count <= longestName, let exact = variants[variant] { return exact }
        guard let end = variant.bytes.prefix(longestName + 1).firstIndex(where: Self.isSeparator) else { return base }
        if variant.count <= longestName, !folded.isEmpty, let equal = folded[Self.folding(variant)] { return equal }
        return variants[variant.prefix(end - variant.bytes.startIndex)] ?? base
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") }

    private static func folding(_ name: SharedText) -> SharedText {
        let bytes = name.bytes.map { isSeparator($0) ? UInt8(ascii: "-") : $0 }
        return SharedText(0..<bytes.count, of: bytes)
    }

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
