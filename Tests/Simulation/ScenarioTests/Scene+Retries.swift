import FanfareCore
import FanfareModel
import Testing

extension Scene {
    /// Sends to one recipient until it is over, and waits in between as a worker does.
    ///
    /// - Parameter random: what the jitter is drawn from, 0 to 1.
    /// - Returns: the waits in milliseconds, and the last verdict; a retry is one when the tries were over.
    mutating func tries(
        _ message: String,
        to target: (String, String),
        over carrier: Carrier,
        random: Double = 0
    ) throws -> (waits: [Int64], last: Verdict) {
        let startMs = nowMs
        var waits: [Int64] = []
        while true {
            let verdict = try send(message, to: target, over: carrier)
            guard let retry = verdict.retry else { return (waits, verdict) }
            let decision = RetryPolicy().decide(
                retry,
                attempts: waits.count + 1,
                firstAttemptMs: startMs,
                nowMs: nowMs,
                lifetimeMs: nil,
                expiresAtMs: 0,
                random: random
            )
            guard case .wait(let untilMs) = decision else { return (waits, verdict) }
            waits.append(untilMs - nowMs)
            advance(ms: untilMs - nowMs)
        }
    }
}
