internal import FanfareCore
internal import FanfareModel

/// One time round the members of a device group that FCM did not reach: each is sent to on its own, and when all have
/// been heard of, the group's one recipient has its result or waits for the next round.
final class GroupRound {
    let position: Int
    let batch: ActiveBatch
    let startedMs: Int64
    private(set) var progress: GroupProgress
    /// Members that no request has begun for.
    private(set) var unsent: [String]
    /// Members whose request is under way.
    private var underWay = 0
    /// Not everybody was sent to: the job was paused or is over, or the worker goes.
    private(set) var wasStopped = false
    /// What keeps the last of the members waiting: there is one wait for all of them.
    private(set) var retry: Retry?
    /// Nothing of the project can be sent until a person acts.
    private(set) var block: Failure?

    init(position: Int, batch: ActiveBatch, progress: GroupProgress, startedMs: Int64) {
        self.position = position
        self.batch = batch
        self.progress = progress
        self.startedMs = startedMs
        unsent = progress.pending.reversed()
    }

    /// Everybody has been heard of who was sent to, and nobody else will be.
    var isOver: Bool { unsent.isEmpty && underWay == 0 }

    /// The next member to send to.
    func next() -> String? {
        guard let member = unsent.popLast() else { return nil }
        underWay += 1
        return member
    }

    /// Sends to nobody else.
    ///
    /// - Returns: true when nothing is under way either.
    func stop() -> Bool {
        wasStopped = wasStopped || !unsent.isEmpty
        unsent = []
        return underWay == 0
    }

    /// - Returns: true when it was the last.
    func heard(_ verdict: Verdict, of token: String) -> Bool {
        if case .blockProject(let failure) = verdict {
            block = failure
            unsent = []
        }
        if var asked = progress.note(verdict, of: token) {
            // What it asked of the project, or of everybody's sends to this member, was heard at once.
            asked.scope = .recipient
            retry = retry.map { $0.joined(with: asked) } ?? asked
        }
        underWay -= 1
        return isOver
    }
}

extension Retry {
    /// The longer wait of two, and the graver doubt.
    fileprivate func joined(with other: Retry) -> Retry {
        var both = (other.retryAfterMs ?? other.floorMs) > (retryAfterMs ?? floorMs) ? other : self
        both.isAmbiguous = isAmbiguous || other.isAmbiguous
        both.countsAttempt = countsAttempt || other.countsAttempt
        return both
    }
}
