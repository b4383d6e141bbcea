internal import FanfareModel

/// The job fields `canary` and `canary_wait_ms`: how many recipients are sent before the others, and how long the job
/// then pauses.
///
/// `canary` is a number of recipients (`1000`) or a share of all (`1%`, `0.5%`), which is rounded up. The canary is the
/// first recipients in the producer's order.
public struct Canary: Equatable, Sendable {
    /// How the producer gave the size.
    enum Size: Equatable, Sendable {
        case recipients(Int)
        case share(Percentage)
    }

    static let countRange: ClosedRange<Int64> = 1...1_000_000_000
    /// One millisecond to seven days.
    static let waitRange: ClosedRange<Int64> = 1...604_800_000

    let size: Size
    /// Length of the pause in milliseconds; nil when the job waits for `job resume`.
    public let waitMs: Int64?

    /// - Parameters:
    ///   - size: the value of `canary`.
    ///   - wait: the value of `canary_wait_ms`, if given.
    /// - Throws: for the first of the two that breaks its rule.
    public init(_ size: [UInt8], wait: [UInt8]? = nil) throws(EntryFault) {
        self.size = try Self.parse(size)
        if let wait {
            waitMs = try GuardNumber.parse(wait, in: Self.waitRange, at: "canary_wait_ms")
        } else {
            waitMs = nil
        }
    }

    private static func parse(_ value: [UInt8]) throws(EntryFault) -> Size {
        if value.last == UInt8(ascii: "%") {
            guard let share = Percentage(value) else {
                throw EntryFault("canary", "\(Excerpt.quoted(value)) \(Percentage.rule)")
            }
            return .share(share)
        }
        try require(
            DecimalText.isDigits(value),
            "canary",
            "\(Excerpt.quoted(value)) is not a number such as 1000 or a share such as 1%"
        )
        return .recipients(Int(try GuardNumber.parse(value, in: countRange, at: "canary")))
    }

    /// The canonical text of `canary`.
    public var text: String {
        switch size {
        case .recipients(let count): String(count)
        case .share(let share): share.text
        }
    }

    /// The number of recipients in the canary; nil when the job does not pause, because the canary is the whole job.
    ///
    /// - Parameter total: recipients of the job; below 0 counts as 0.
    public func count(total: Int) -> Int? {
        let total = max(0, total)
        let count: Int
        switch size {
        case .recipients(let recipients): count = recipients
        case .share(let share):
            // In two parts, so that the product stays within 64 bits.
            count = total / 1_000 * share.perMille + (total % 1_000 * share.perMille + 999) / 1_000
        }
        return count < total ? count : nil
    }
}
