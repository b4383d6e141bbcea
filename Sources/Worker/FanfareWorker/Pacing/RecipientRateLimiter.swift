internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Recipients that are sent to more slowly than the rest: those that FCM refused for their rate in the last hour, in
/// any job and any worker, and those that stand in a large fan-out again and again (see <doc:ProtocolFacts>).
final class RecipientRateLimiter {
    enum Decision: Equatable {
        case go
        /// Not before this time, Unix milliseconds.
        case hold(untilMs: Int64)
        /// Redis decides; the completion is called with the milliseconds to wait.
        case ask
    }

    private struct Refusal {
        var untilMs: Int64
        var forgetMs: Int64
    }

    private let project: ProjectContext
    private var refused: [String: Refusal] = [:]
    private var sweepMs: Int64 = 0
    private static let hourMs: Int64 = 3_600_000

    init(project: ProjectContext) { self.project = project }

    static func name(_ recipient: String, kind: RecipientKind) -> String { "\(kind.rawValue):\(recipient)" }

    /// FCM refused the recipient, here or elsewhere.
    func refused(_ name: String, untilMs: Int64) {
        let nowMs = project.nowMs
        refused[name] = Refusal(
            untilMs: max(untilMs, refused[name]?.untilMs ?? 0),
            forgetMs: max(nowMs, untilMs) + Self.hourMs
        )
        guard nowMs >= sweepMs else { return }
        sweepMs = nowMs + 60_000
        refused = refused.filter { $0.value.forgetMs > nowMs }
    }

    /// Asked before every send, so it costs nothing while nobody was refused.
    func decide(_ position: Int, of batch: ActiveBatch) -> Decision {
        decide(position, of: batch, repeats: batch.repeats(position, now: project.loop.now))
    }

    /// As ``decide(_:of:)`` of each, in their order; nil where all may go.
    func decide(_ positions: [Int], of batch: ActiveBatch) -> [Decision]? {
        let repeats = batch.repeats(positions, now: project.loop.now)
        guard !refused.isEmpty || repeats.contains(where: { $0 >= CountMinSketch.paceFrom }) else { return nil }
        return positions.indices.map { index in
            decide(positions[index], of: batch, repeats: repeats.isEmpty ? 0 : repeats[index])
        }
    }

    private func decide(_ position: Int, of batch: ActiveBatch, repeats: Int) -> Decision {
        let isFrequent = repeats >= CountMinSketch.paceFrom
        guard !refused.isEmpty,
            let refusal = refused[Self.name(batch.name(of: position), kind: batch.job.spec.kind)]
        else {
            return isFrequent ? .ask : .go
        }
        let nowMs = project.nowMs
        if refusal.untilMs > nowMs { return .hold(untilMs: refusal.untilMs) }
        return isFrequent || refusal.forgetMs > nowMs ? .ask : .go
    }

    /// - Parameter completion: the milliseconds to wait; 0 when the send may begin and has been counted.
    func ask(_ recipient: String, of job: JobContext, _ completion: @escaping (Int64) -> Void) {
        let name = Self.name(recipient, kind: job.spec.kind)
        project.redis.send(FunctionLibrary.pace(project.keys, recipient: name, nowMs: project.workerClockMs)) {
            result in
            guard case .success(let value) = result, let wait = value.integer else { return completion(1_000) }
            completion(wait)
        }
    }
}
