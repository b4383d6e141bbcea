/// Spaces the sends to one recipient so that FCM's limits for a device hold: 240 messages a minute, as one per 250 ms,
/// and 5,000 an hour (page "ProtocolFacts", "Quotas and fan-outs"). The same rule as the Redis function `pace`, which
/// applies it across workers; this one is for what a single worker sends.
///
/// An hour begins with the first send, and the next one with the first send after it. Whether FCM's own hour is fixed or
/// sliding is not known.
public struct RecipientPace: Equatable, Sendable {
    /// The least time from one send to the next, in milliseconds.
    public static let spacingMs: Int64 = 250
    /// Sends in one hour.
    public static let perHour = 5_000

    private static let minuteMs: Int64 = 60_000
    private static let hourMs: Int64 = 3_600_000

    private var nextMs: Int64?
    private var hourStartMs: Int64 = 0
    private var sentThisHour = 0

    /// A recipient of which nothing was sent lately.
    public init() {}

    /// A recipient that was sent to without being paced.
    ///
    /// - Parameters:
    ///   - alreadySent: how often in the last minute, counted as all at once just now: the next send waits 250 ms for
    ///     each, and so a minute at most.
    ///   - nowMs: milliseconds on the clock that ``take(nowMs:)`` will be given.
    public init(alreadySent: Int, nowMs: Int64) {
        guard alreadySent > 0 else { return }
        sentThisHour = min(alreadySent, Self.perHour)
        hourStartMs = nowMs
        nextMs = nowMs.adding(min(Self.minuteMs, Int64(sentThisHour) * Self.spacingMs))
    }

    /// Asks to send now, and counts the send if it may go.
    ///
    /// - Parameter nowMs: milliseconds on any clock, the same at every call. Where it is set back, the wait stays within a
    ///   minute, or an hour for an hour that is used up.
    /// - Returns: 0 when it may go; else milliseconds to wait before asking again, with nothing counted.
    public mutating func take(nowMs: Int64) -> Int64 {
        if nextMs == nil || nowMs.subtracting(hourStartMs) >= Self.hourMs {
            hourStartMs = nowMs
            sentThisHour = 0
        } else if nowMs < hourStartMs {
            hourStartMs = nowMs
        }
        var wait = min(Self.minuteMs, (nextMs ?? nowMs).subtracting(nowMs))
        if sentThisHour >= Self.perHour {
            wait = max(wait, Self.hourMs - nowMs.subtracting(hourStartMs))
        }
        guard wait <= 0 else {
            // A clock set back must not leave a far time standing.
            nextMs = min(nextMs ?? nowMs, nowMs.adding(Self.minuteMs))
            return wait
        }
        nextMs = nowMs.adding(Self.spacingMs)
        sentThisHour += 1
        return 0
    }
}
