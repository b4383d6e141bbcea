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

    /// The rate that Fanfare keeps.
    public struct Effective: Equatable, Sendable {
        /// First attempts a minute; 1 or more.
        public let perMinute: Int
        /// Text for the job hash; nil unless the quota cut the rate.
        public let reason: String?
    }

    /// Cuts the rate to the project's quota.
    ///
    /// - Parameter quotaPerMinute: messages a minute; below 1 counts as 1.
    public func effective(quotaPerMinute: Int) -> Effective {
        let quota = max(1, quotaPerMinute)
        guard perMinute > quota else { return Effective(perMinute: perMinute, reason: nil) }
        let reason = "rate: \(perMinute) a minute, cut to the project's quota of \(quota)"
        return Effective(perMinute: quota, reason: reason)
    }
}
