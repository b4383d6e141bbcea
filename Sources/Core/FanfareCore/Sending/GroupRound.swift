internal import FanfareModel

/// One round over the members of a device group that FCM did not reach. Each is sent to on its own; when all are answered,
/// the group has its result or waits for the next round.
struct GroupRound: Sendable {
    let position: Int
    let startedMs: Int64
    private(set) var progress: GroupProgress
    /// Members that no request has begun for, the next one last.
    private(set) var unsent: [String]
    private var inFlight = 0
    /// Whether members were left out: the job was paused or is over, or the worker drains.
    private(set) var wasStopped = false
    /// The longest retry among the members, who wait together.
    private(set) var retry: Retry?
    /// The last refusal of a member, which may be of the project.
    private(set) var refusal: Failure?

    init(position: Int, progress: GroupProgress, startedMs: Int64) {
        self.position = position
        self.progress = progress
        self.startedMs = startedMs
        unsent = progress.pending.reversed()
    }

    /// Whether every member that was sent to is answered, and no other will be sent to.
    var isOver: Bool { unsent.isEmpty && inFlight == 0 }

    /// The next member to send to.
    mutating func next() -> String? {
        guard let member = unsent.popLast() else { return nil }
        inFlight += 1
        return member
    }

    /// Sends to no other member.
    mutating func stop() {
        wasStopped = wasStopped || !unsent.isEmpty
        unsent = []
    }

    /// A member was answered.
    mutating func answered(_ verdict: Verdict, member: String) {
        inFlight -= 1
        if case .blockProject(let failure) = verdict { refusal = failure }
        guard var asked = progress.apply(verdict, to: member) else { return }
        // A wider scope was applied when the answer came.
        asked.scope = .recipient
        retry = retry.map { $0.joined(with: asked) } ?? asked
    }
}

extension Retry {
    /// The longer wait of two, and the graver doubt.
    fileprivate func joined(with other: Retry) -> Retry {
        var both = (other.retryAfterMs ?? other.floorMs) > (retryAfterMs ?? floorMs) ? other : self
        both.mayHaveArrived = mayHaveArrived || other.mayHaveArrived
        both.countsAttempt = countsAttempt || other.countsAttempt
        return both
    }
}
