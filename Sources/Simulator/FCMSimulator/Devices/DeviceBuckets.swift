/// Limits the messages to each Android device: 240 in 60 seconds and 5,000 in an hour. FCM's windows are not
/// documented; here each starts at its first message.
///
/// A token is remembered by its hash while a window of it is open. An hour with more than 5,000 messages has a minute
/// with more than 83, so a token's hour is counted from its first minute of that kind.
struct DeviceBuckets: Equatable, Sendable {
    static let perMinute = 240
    static let perHour = 5_000
    static let minuteMs: Int64 = 60_000
    static let hourMs: Int64 = 3_600_000
    /// Tokens that are watched at once. Further ones are not limited until a minute has passed.
    static let maximumWatched = 2_000_000
    private static let busyMinute = 84

    private struct Window: Equatable, Sendable {
        var startedMs: Int64
        var count: Int
    }

    private var minutes: [UInt64: Window] = [:]
    private var hours: [UInt64: Window] = [:]
    private var sweptMs: Int64 = 0

    var watchedCount: Int { minutes.count + hours.count }

    /// Counts one message; returns nil, or the whole seconds, at least 1, until the token's exhausted window ends.
    mutating func consume(_ token: String, nowMs: Int64) -> Int64? {
        sweep(nowMs)
        let hash = TokenHash.of(token)
        let hour = hours[hash]
        if let hour, nowMs - hour.startedMs < Self.hourMs, hour.count >= Self.perHour {
            return seconds(until: hour.startedMs + Self.hourMs, nowMs)
        }
        var minute = minutes[hash] ?? Window(startedMs: nowMs, count: 0)
        if nowMs - minute.startedMs >= Self.minuteMs { minute = Window(startedMs: nowMs, count: 0) }
        guard minute.count < Self.perMinute else { return seconds(until: minute.startedMs + Self.minuteMs, nowMs) }
        minute.count += 1
        if minute.count > 1 || minutes.count < Self.maximumWatched { minutes[hash] = minute }
        if let hour, nowMs - hour.startedMs < Self.hourMs {
            hours[hash] = Window(startedMs: hour.startedMs, count: hour.count + 1)
        } else if minute.count >= Self.busyMinute {
            hours[hash] = minute
        }
        return nil
    }

    /// The messages counted in the open windows.
    func used(_ token: String, nowMs: Int64) -> (minute: Int, hour: Int) {
        let hash = TokenHash.of(token)
        let minute = minutes[hash].map { nowMs - $0.startedMs < Self.minuteMs ? $0.count : 0 } ?? 0
        let hour = hours[hash].map { nowMs - $0.startedMs < Self.hourMs ? $0.count : 0 } ?? 0
        return (minute, max(minute, hour))
    }

    /// A device with a new token is the same one.
    mutating func rename(_ old: String, to new: String) {
        let (from, to) = (TokenHash.of(old), TokenHash.of(new))
        minutes[to] = minutes.removeValue(forKey: from)
        hours[to] = hours.removeValue(forKey: from)
    }

    private func seconds(until endMs: Int64, _ nowMs: Int64) -> Int64 {
        max(1, (endMs - nowMs + 999) / 1_000)
    }

    /// Forgets ended windows, once a minute: a constant cost for each message on average.
    private mutating func sweep(_ nowMs: Int64) {
        guard nowMs - sweptMs >= Self.minuteMs || nowMs < sweptMs else { return }
        sweptMs = nowMs
        minutes = minutes.filter { nowMs - $0.value.startedMs < Self.minuteMs }
        hours = hours.filter { nowMs - $0.value.startedMs < Self.hourMs }
    }
}
