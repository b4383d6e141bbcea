internal import FanfareModel

/// A share of recipients in tenths of a percent, so that shares are compared without floating point.
///
/// The text is `5%` or `0.5%`: one or two digits without a leading zero, at most one decimal, and the sign.
struct Percentage: Equatable, Sendable {
    /// The rule as errors spell it.
    static let rule = "is not a share of 0.1% to 99.9%, with at most one decimal"

    /// 1 (0.1%) to 999 (99.9%).
    let perMille: Int

    /// Nil for every other text, and for shares outside the range.
    init?(_ text: some Collection<UInt8>) {
        guard let end = text.firstIndex(of: UInt8(ascii: "%")), text.index(after: end) == text.endIndex else {
            return nil
        }
        let parts = text[..<end].split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let whole = parts[0]
        guard (1...2).contains(whole.count), whole.count == 1 || whole.first != UInt8(ascii: "0"),
            let units = DecimalText.parse(whole)
        else { return nil }
        var tenths: Int64 = 0
        if parts.count == 2 {
            guard parts[1].count == 1, let decimal = DecimalText.parse(parts[1]) else { return nil }
            tenths = decimal
        }
        guard units * 10 + tenths > 0 else { return nil }
        perMille = Int(units * 10 + tenths)
    }

    /// The shortest text, such as `5%` for `5.0%`.
    var text: String { Self.text(perMille: perMille) }

    /// - Parameter perMille: 0 or more.
    static func text(perMille: Int) -> String {
        perMille % 10 == 0 ? "\(perMille / 10)%" : "\(perMille / 10).\(perMille % 10)%"
    }
}
