/// Limits on a job's sends, and the conditions that pause it: the fields `rate`, `canary`, `canary_wait_ms`, `stop_if` and
/// `send_window`, checked and in canonical text.
public struct JobGuards: Equatable, Sendable {
    /// First attempts a minute, fleet-wide; nil without the field. The project's quota may be lower, and counts then.
    public var ratePerMinute: Int?
    /// The size of the canary, as a number (`1000`) or as a share (`1%`, `0.5%`); nil without the field.
    public var canary: String?
    /// Length of the pause behind the canary, milliseconds; nil when the job waits for `job resume`.
    public var canaryWaitMs: Int64?
    /// Conditions such as `failed>5%; unknown>1%`; nil without the field.
    public var stopIf: String?
    /// Hours of every day such as `09:00-21:00 Europe/Madrid`; nil without the field.
    public var sendWindow: String?

    public init() {}

    public var isEmpty: Bool { self == JobGuards() }
}
