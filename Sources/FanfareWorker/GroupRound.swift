internal import FanfareCore
internal import FanfareModel

/// One time round the members of a device group that FCM did not reach: each is sent to on its own, and when all have
/// been heard of, the group's one recipient has its result or waits for the next round.
final class GroupRound {
    let position: Int
    let batch: ActiveBatch
    let startedMs: Int64
    private(set) var progress: GroupProgress
    /// Members that have not been heard of.
    private var left: Int
    /// What keeps the last of the members waiting: there is one wait for all of them.
    private(set) var retry: Retry?
    /// Nothing of the project can be sent until a person acts.
    private(set) var block: Failure?

    init(position: Int, batch: ActiveBatch, progress: GroupProgress, startedMs: Int64) {
        self.position = position
        self.batch = batch
        self.progress = progress
        self.startedMs = startedMs
        left = progress.pending.count
    }

    /// - Returns: true when it was the last.
    func heard(_ verdict: Verdict, of token: String) -> Bool {
        if case .blockProject(let failure) = verdict { block = failure }
        if let asked = progress.note(verdict, of: token) { retry = retry.map { $0.joined(with: asked) } ?? asked }
        left -= 1
        return left == 0
    }
}

extension Retry {
    /// The longer wait of two, and the graver doubt.
    fileprivate func joined(with other: Retry) -> Retry {
        var both = (other.retryAfterMs ?? other.floorMs) > (retryAfterMs ?? floorMs) ? other : self
        both.isAmbiguous = isAmbiguous || other.isAmbiguous
        both.countsAttempt = countsAttempt || other.countsAttempt
        // A rate that was refused concerns one member, and is no reason to hold anybody else's sends to the group.
        if both.scope != .project { both.scope = .recipient }
        if scope == .project || other.scope == .project { both.scope = .project }
        return both
    }
}
