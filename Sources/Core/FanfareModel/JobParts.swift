/// The grammar of a project's id, which becomes part of Redis keys and of URLs.
public enum ProjectID {
    public static let pattern = "[a-z0-9][a-z0-9-]{0,62}"

    public static func isValid(_ id: String) -> Bool {
        let bytes = id.utf8
        guard let first = bytes.first, bytes.count <= 63, first != UInt8(ascii: "-") else { return false }
        return bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
    }
}

/// At most 1,000 recipients of one job: the unit that is claimed, sent and checkpointed.
public enum Batch {
    /// FCM's limit of `registration_ids` in one legacy request, and ours for every transport.
    public static let maximumSize = 1_000
}

/// Limits on a job's sends, and the conditions that pause it: the fields `rate`, `canary`, `canary_wait_ms`, `stop_if` and
/// `send_window`, checked and in canonical text.
public struct JobGuards: Equatable, Sendable {
    /// First attempts a minute, fleet-wide; nil without the field. The project's quota may be lower, and counts then.
    public var ratePerMinute: Int?
    /// The size of the canary, as a number (`1000`) or as a share (`1%`, `0.5%`); nil without the field.
    public var canary: String?
    /// Length of the pause after the canary, milliseconds; nil when the job waits for `job resume`.
    public var canaryWaitMs: Int64?
    /// Conditions such as `failed>5%; unknown>1%`; nil without the field.
    public var stopIf: String?
    /// Hours of every day such as `09:00-21:00 Europe/Madrid`; nil without the field.
    public var sendWindow: String?

    public init() {}

    public var isEmpty: Bool { self == JobGuards() }
}

/// The estimated size of the audience of a topic or a condition. It decides how long the send keeps the project's slot.
public enum AudienceEstimate: Equatable, Sendable {
    /// The source of a size.
    public enum Source: String, Equatable, Sendable, CaseIterable {
        /// The producer's `audience_size`.
        case job
        /// The configuration's `topics`.
        case config
        /// Fanfare's own count of the subscriptions that it made: a lower bound.
        case counted
        /// No size is known: the slot is free when the send is answered.
        case none
    }

    case known(Int64, Source)
    /// The size depends on topics whose subscriptions Redis has to count.
    ///
    /// - Parameter formula: words separated by blanks, in postfix order: `#` and a number is a known size, `+` adds two
    ///   sizes, `<` takes the smaller of two, and any other word is a topic.
    case counted(formula: String)
}
