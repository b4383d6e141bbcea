internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// A device group of which FCM reached some members only, or none, and named the others: they are sent to one by one, in rounds, and the group's
/// one result is written when that has ended.
extension Settler {
    /// How the first round waits: the members' failures have no reasons, so a capacity that was missing is assumed.
    private static let missed = Retry(
        failure: Failure(error: .unavailable, action: .none, rawError: "failed_registration_ids", httpStatus: 200)
    )

    /// FCM's limit of members of a group; what an answer lists beyond it is not of this group.
    private static let mostMembers = 20

    /// - Parameter refusal: the answer's verdict, if no member was reached; nil if some were.
    func beginRounds(
        _ messageID: String,
        _ tokens: [String],
        refusal: Retry? = nil,
        position: Int,
        of batch: ActiveBatch,
        random: Double
    ) {
        var progress = GroupProgress(
            key: batch.name(of: position),
            messageID: messageID,
            pending: Array(tokens.prefix(Self.mostMembers)),
            isReached: refusal == nil
        )
        guard !batch.job.isOneAttempt(firstAttemptMs: batch.recipients[position].history.firstAttemptMs) else {
            progress.giveUp()
            return finish(progress, position: position, of: batch)
        }
        batch.recipients[position].value = progress.text
        wait(refusal ?? Self.missed, position: position, of: batch, random: random)
    }

    /// What a member's answer asks of others: of the project, which holds at once, and of every send to that token.
    func noteMember(_ verdict: Verdict, token: String, of batch: ActiveBatch) {
        noteAnswer(verdict, of: batch)
        guard case .retry(let retry) = verdict, retry.scope == .device else { return }
        let untilMs = project.nowMs + max(retry.floorMs, retry.retryAfterMs ?? 0)
        refuseRate(RecipientRateLimiter.name(token, kind: .token), untilMs: untilMs, of: batch)
    }

    /// All members of a round have been heard of.
    func settle(_ round: GroupRound) {
        let (position, batch) = (round.position, round.batch)
        batch.round = nil
        batch.recipients[position].value = round.progress.text
        if let failure = round.block {
            return settle(.blockProject(failure), position: position, of: batch, startedMs: round.startedMs)
        }
        if let retry = round.retry {
            return settle(.retry(retry), position: position, of: batch, startedMs: round.startedMs)
        }
        if round.wasStopped {
            // Who was reached is known; the others go on where the group does.
            return batch.job.ending == nil ? giveBack(position, of: batch) : end(position, of: batch)
        }
        count(.sent(messageID: "", canonical: nil), position: position, of: batch, startedMs: round.startedMs)
        finish(round.progress, position: position, of: batch)
    }

    /// Writes the group's result: `sent` if at least one member was reached.
    ///
    /// - Parameter unreached: the status if certainly no member was reached.
    func finish(
        _ progress: GroupProgress,
        position: Int,
        of batch: ActiveBatch,
        unreached: ResultStatus = .failed
    ) {
        let recipient = batch.recipients[position]
        var status = ResultStatus.sent
        let failure = progress.failure(httpStatus: batch.job.answersOverHTTP ? 200 : 0)
        if !progress.isReached {
            status = failure == nil || recipient.history.maybeDuplicate ? .unknown : unreached
        }
        var record = ResultRecord(
            index: Int64(recipient.index),
            kind: .group,
            recipient: progress.key,
            status: status,
            messageID: progress.messageID,
            failure: status == .failed ? failure : nil,
            failedTokens: progress.failed.isEmpty ? nil : progress.failedTokens,
            attempts: recipient.history.attempts,
            maybeDup: recipient.history.maybeDuplicate
        )
        record.memberFeedback = progress.failed.compactMap { member in
            guard member.isDead, let error = member.error else { return nil }
            return Feedback(kind: .token, recipient: member.token, action: .remove(error))
        }
        report(record, position: position, of: batch)
    }

    /// The tries are over, or the job is, while members of a group were still to be reached; false for what is no such
    /// group.
    ///
    /// - Parameter status: the result's, if no member was reached.
    func finishRounds(_ status: ResultStatus, position: Int, of batch: ActiveBatch) -> Bool {
        guard batch.job.spec.kind == .group, var progress = GroupProgress(batch.recipients[position].value) else {
            return false
        }
        progress.giveUp()
        finish(progress, position: position, of: batch, unreached: status)
        return true
    }
}

extension RetryDecision {
    /// The status of a group that ends by it and of which no member was reached.
    var statusOfGroup: ResultStatus {
        switch self {
        case .expired: .expired
        case .unknown: .unknown
        case .wait, .giveUp: .failed
        }
    }
}
