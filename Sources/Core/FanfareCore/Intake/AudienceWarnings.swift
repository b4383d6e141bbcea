public import FanfareModel

/// Decides when the log says that the size of an audience is counted or not known: once an hour for each topic and each
/// condition.
public struct AudienceWarnings: Sendable {
    static let pauseNs: UInt64 = 3_600_000_000_000
    /// The most names that are remembered. Further names within an hour get no warning.
    static let most = 10_000

    private var warned: [String: UInt64] = [:]

    public init() {}

    /// The warning for a job's audience; nil if none is due: the size was given, or the warning was logged within the
    /// hour.
    ///
    /// - Parameters:
    ///   - name: the topic or the condition.
    ///   - now: nanoseconds of a clock that only grows.
    public mutating func sentence(_ source: AudienceEstimate.Source, name: String, now: UInt64) -> String? {
        let text: String
        switch source {
        case .job, .config: return nil
        case .counted:
            text =
                "The size of an audience is a count of Fanfare's own subscriptions, a lower bound: its fan-out may overlap "
                + "with the next one. Configure the topic's size, or push audience_size."
        case .none:
            text =
                "The size of an audience is not known: its fan-out may overlap with the next one. Configure the topic's "
                + "size, or push audience_size."
        }
        if let last = warned[name], now < last + Self.pauseNs { return nil }
        if warned.count >= Self.most, warned[name] == nil {
            warned = warned.filter { now < $0.value + Self.pauseNs }
            guard warned.count < Self.most else { return nil }
        }
        warned[name] = now
        return text
    }
}
