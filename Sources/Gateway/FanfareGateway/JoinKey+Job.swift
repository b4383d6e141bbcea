internal import FanfareClient
internal import FanfareCore
internal import FanfareModel

/// A job that is no message. It is shared: a copy in each frame of a request that waits would take kilobytes.
final class PreparedJob: Sendable {
    let push: PushJob

    init(_ push: PushJob) { self.push = push }
}

extension JoinKey {
    /// - Parameter prepared: the job itself, where it is no message.
    func job(to recipients: [String], id: String?, _ prepared: PreparedJob?) -> PushJob {
        var job = prepared?.push ?? PushJob(target: target(recipients), message: message)
        if prepared == nil { (job.format, job.validateOnly, job.delivery) = (format, validateOnly, delivery) }
        (job.id, job.results, job.priority, job.expiresAt) = (id, .all, priority, expiresAt)
        (job.traceparent, job.tracestate) = (trace?.parent, trace?.state)
        return job
    }

    private func target(_ recipients: [String]) -> Target {
        switch kind {
        case .fid: return .fids(RecipientList(recipients))
        case .topic: return .topic(recipients[0])
        case .condition: return .condition(recipients[0])
        case .group: return .group(recipients[0])
        default: return .tokens(RecipientList(recipients))
        }
    }
}
