/// An event that a worker must learn at once.
public enum News: Equatable, Sendable {
    /// The job was paused or parked: unsent recipients of batches up to this epoch go back.
    case stop(job: String, epoch: Int64)
    /// The job was parked, and needs an operator.
    case parked(job: String, reason: String)
    /// The job ends: each unfinished recipient gets this status without a send.
    case end(job: String, status: String)
    /// FCM refused a recipient of the job since the project is blocked: the probe is of another job, if there is one.
    case refused(job: String)
    /// No send to this recipient begins before this time, Unix milliseconds.
    case rate(recipient: String, untilMs: Int64)

    /// Events of a kind that this version does not know are left out.
    static func list(_ value: RedisValue) -> [News]? {
        guard let parts = value.array, parts.count.isMultiple(of: 3) else { return nil }
        return stride(from: 0, to: parts.count, by: 3).compactMap { at in
            guard let kind = parts[at].string, let name = parts[at + 1].string, let value = parts[at + 2].string else {
                return nil
            }
            switch kind {
            case "stop": return Int64(value).map { .stop(job: name, epoch: $0) }
            case "parked": return .parked(job: name, reason: value)
            case "refused": return .refused(job: name)
            case "end": return .end(job: name, status: value)
            case "rate": return Int64(value).map { .rate(recipient: name, untilMs: $0) }
            default: return nil
            }
        }
    }
}
