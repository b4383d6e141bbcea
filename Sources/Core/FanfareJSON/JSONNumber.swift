/// A number as it was written, so that no digit is lost: a `multicast_id` has 19 digits, more than a double holds.
public struct JSONNumber: Equatable, Sendable {
    /// The literal, such as `-1.50e+3`. Always valid JSON.
    public let text: String

    /// - Parameter text: a literal that the parser has checked.
    init(checked text: String) {
        self.text = text
    }

    public init(_ value: Int64) {
        text = String(value)
    }

    /// The shortest literal that reads back as this value; nil for infinities and NaN, which JSON does not have.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// - Parameter tenths: such as 15 for 1.5.
    public init(tenths: Int64) {
        let (whole, rest) = (tenths.magnitude / 10, tenths.magnitude % 10)
        text = (tenths < 0 ? "-" : "") + (rest == 0 ? "\(whole)" : "\(whole).\(rest)")
    }

    /// The exact value if it is written as an integer (no point, no exponent) and fits; `-0` is 0.
    public var int64: Int64? {
        Int64(text)
    }

    /// The exact value if it is a whole number in range however it is written: `1e3` and `5.0` are integers too, which
    /// is how a protobuf JSON reader takes them. Huge exponents cost nothing and yield nil.
    public var wholeInt64: Int64? {
        if let exact = int64 { return exact }
        // Beyond 2^53 a double is no longer exact, so the literal is taken for no integer.
        guard let value = double, value.magnitude <= 9_007_199_254_740_992 else { return nil }
        return Int64(exactly: value)
    }

    /// The nearest double; nil where it would be infinite.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}
