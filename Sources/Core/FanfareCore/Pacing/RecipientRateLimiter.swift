internal import FanfareModel

/// Decides which recipients are sent to more slowly than the rest: recipients that FCM refused for their rate in the
/// last hour, in any job and any worker, and recipients that stand in a large fan-out again and again (see the page
/// ProtocolFacts).
///
/// All times are in the project's time, in milliseconds.
struct RecipientRateLimiter: Sendable {
    enum Decision: Equatable, Sendable {
        case send
        case wait(untilMs: Int64)
        /// Redis decides, because other workers may send to the recipient, too.
        case check
    }

    private struct Hold {
        var untilMs: Int64
        var forgetMs: Int64
    }

    private var refused: [String: Hold] = [:]
    private var nextSweepMs: Int64 = 0
    private static let hourMs: Int64 = 3_600_000

    /// The name of a recipient among all kinds: `<kind>:<recipient>`.
    static func name(_ recipient: String, kind: RecipientKind) -> String { "\(kind.rawValue):\(recipient)" }

    /// FCM refused a recipient, on this worker or another.
    mutating func refuse(_ name: String, untilMs: Int64, nowMs: Int64) {
        refused[name] = Hold(
            untilMs: max(untilMs, refused[name]?.untilMs ?? 0),
            forgetMs: max(nowMs, untilMs) + Self.hourMs
        )
        guard nowMs >= nextSweepMs else { return }
        nextSweepMs = nowMs + 60_000
        refused = refused.filter { $0.value.forgetMs > nowMs }
    }

    /// Decides on one send. Costs nothing while no recipient was refused.
    ///
    /// - Parameters:
    ///   - name: the recipient's ``name(_:kind:)``.
    ///   - repeats: how often this worker was about to send to it in the last minute.
    func decide(_ name: @autoclosure () -> String, repeats: Int, nowMs: Int64) -> Decision {
        let isFrequent = repeats >= CountMinSketch.paceFrom
        guard !refused.isEmpty, let hold = refused[name()] else { return isFrequent ? .check : .send }
        if hold.untilMs > nowMs { return .wait(untilMs: hold.untilMs) }
        return isFrequent || hold.forgetMs > nowMs ? .check : .send
    }
}
