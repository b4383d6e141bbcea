internal import FanfareModel
internal import StreamWire

/// What a 401, 403 or 404 without FCM's own code leads to. It may be about the project or about one recipient, so one of
/// them proves nothing about the rest.
///
/// | a recipient is refused | becomes |
/// |---|---|
/// | for the first time, or with no accepted send of the project since its last refusal | a retry after a minute |
/// | again, after an accepted send | a retry after a minute, once; then `failed` |
/// | less than a minute before its message or its lifetime expires | a retry at that end, where it becomes `expired` |
///
/// Redis counts the evidence against the project in the step that writes the retry; see `weigh_refusals` in
/// `refusals.lua`, whose constants these are.
enum RefusalRules {
    /// So many different recipients are refused in a row, without an accepted send between them, before the project is
    /// blocked. With a credential that never had an accepted send, the first one is enough.
    static let recipientsToBlock = 5
    /// A blocked project sends one recipient in so many milliseconds.
    static let probeMs: Int64 = 60_000
    /// The least wait of a refused recipient, in milliseconds.
    static let intervalMs: Int64 = 60_000
    /// How often a refused recipient is tried once FCM has accepted another send.
    static let triesAfterAccepted = 2
}

extension OutcomeRules {
    /// The fate of a recipient that FCM refused.
    func refuse(_ failure: Failure, _ recipient: HeldRecipient, _ situation: Situation, random: Double) -> Decision {
        var recipient = recipient
        let isOwn = recipient.history.refusals > 0 && situation.isProjectAccepted
        recipient.history.refusals = isOwn ? recipient.history.refusals + 1 : 1
        guard recipient.history.refusals <= RefusalRules.triesAfterAccepted else {
            return refused(failure, recipient, situation.job)
        }
        // A jitter of a quarter of the wait: recipients that were refused together do not come back together.
        return waitForProject(failure, recipient, situation, random: random / 4)
    }

    /// The result of a recipient that FCM refuses on its own account.
    private func refused(_ failure: Failure, _ recipient: HeldRecipient, _ job: SendJob) -> Decision {
        guard var rounds = finishedRounds(.failed, recipient, job) else {
            return result(.failed, failure, recipient, job)
        }
        if case .result(var record) = rounds.fate, record.status == .failed {
            record.failure = failure
            rounds.fate = .result(record)
        }
        return rounds
    }

    /// The fate of a recipient that this worker holds while the project is blocked, when recipients with a refusal go back.
    ///
    /// - Parameter reason: of the block.
    func whileBlocked(_ recipient: HeldRecipient, _ situation: Situation, reason: String) -> Decision {
        guard recipient.history.refusals > 0, situation.ending == nil else { return giveBack(recipient) }
        if let decision = beforeSend(recipient, situation) { return decision }
        let failure = Failure(error: .unspecified, action: .fixCredentials, rawError: String(reason.prefix(200)))
        var decision = waitForProject(failure, recipient, situation, random: 0)
        if case .retry(let dueMs, _) = decision.fate { decision.fate = .retry(dueMs: dueMs, cause: nil) }
        return decision
    }

    /// A wait that does not grow: the project may be at fault, which a longer wait does not mend. A recipient that expires
    /// within the wait waits until it does: `project resume` sends one that still lives.
    private func waitForProject(
        _ failure: Failure,
        _ recipient: HeldRecipient,
        _ situation: Situation,
        random: Double
    ) -> Decision {
        var retry = Retry(failure: failure, floorMs: max(RefusalRules.intervalMs, failure.leastWaitMs))
        retry.waitsForExpiry = true
        return wait(retry, recipient, situation, attempts: 1, random: random)
    }
}
