/// The job field `rate`: how many first attempts the whole fleet may begin in a minute for one job. Retries do not count.
public struct JobRate: Equatable, Sendable {
    /// The same upper bound as that of a project's quota.
    static let range: ClosedRange<Int64> = 1...1_000_000_000

    /// First attempts a minute.
    public let perMinute: Int

    /// - Parameter value: the field's value; decimal digits.
    /// - Throws: when the value is not a whole number, or outside the range.
    public init(_ value: [UInt8]) throws(EntryFault) {
        perMinute = Int(try GuardNumber.parse(value, in: Self.range, at: "rate"))
    }
}
