/// A share in percent.
package enum Share {
    /// Tenths of a percent, rounded; never 1,000 for less than all, nor 0 for more than none. 0 of nothing.
    package static func tenths(_ part: Int64, of all: Int64) -> Int64 {
        guard all > 0, part > 0 else { return 0 }
        guard part < all else { return 1_000 }
        return min(999, max(1, Int64((Double(part) * 1_000 / Double(all)).rounded())))
    }

    /// Such as `33.9 %`.
    package static func text(_ part: Int64, of all: Int64) -> String {
        let tenths = tenths(part, of: all)
        return tenths.isMultiple(of: 10) ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
    }
}
