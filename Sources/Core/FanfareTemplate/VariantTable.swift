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
}
