internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// The rules for a device group whose members FCM did not all reach. The others are sent to one by one, in rounds, and the
/// group's one result is written when the rounds have ended.
extension OutcomeRules {
    /// The wait before the first round. FCM gives no reasons for members, so overload is assumed.
    private static let missed = Retry(
        failure: Failure(error: .unavailable, action: .none, rawError: "failed_registration_ids", httpStatus: 200)
    )

    /// The fate of a group after an answer that names members without the message.
    ///
    /// - Parameter refusal: the retry that the answer asks for; nil if FCM reached some members.
    func members(
        _ tokens: [String],
        _ messageID: String,
        refusal: Retry?,
        _ recipient: HeldRecipient,
        _ situation: Situation,
        random: Double
    ) -> Decision {
        let (job, now) = (situation.job, situation.now)
        var progress = GroupProgress(
            key: recipient.name.string,
            messageID: messageID,
            // A group has no members beyond FCM's limit.
            pending: Array(tokens.prefix(GroupOperation.maximumMembers)),
            isReached: refusal == nil
        )
        guard job.lifetimeMs(of: recipient, firstAttemptMs: now.wall(recipient.history.firstAttemptMs)) != 0 else {
            progress.giveUp()
            return finished(progress, recipient, job, unreached: .failed)
        }
        var recipient = recipient
        recipient.text = .members(progress)
        return wait(refusal ?? Self.missed, recipient, situation, random: random)
    }

    /// The fate of a group after a round in which every member is answered.
    func settle(
        _ round: GroupRound,
        _ recipient: HeldRecipient,
        _ situation: Situation,
        random: Double
    ) -> Decision {
        var recipient = recipient
        recipient.text = .members(round.progress)
        if round.refusal != nil, let retry = round.retry, situation.job.isDoubtful(retry) {
            recipient.history.maybeDuplicate = true
        }
        let asked = round.refusal.map { Verdict.blockProject($0) } ?? round.retry.map { .retry($0) }
        if let asked {
            var decision = settle(asked, recipient, startedMs: round.startedMs, situation, random: random)
            // A refused member makes no wait shorter that FCM asked of another one.
            if case .retry(let dueMs, let cause) = decision.fate, let retry = round.retry {
                let leastMs = situation.now.projectMs + max(retry.floorMs, retry.retryAfterMs ?? 0)
                decision.fate = .retry(dueMs: max(dueMs, leastMs), cause: cause)
            }
            return decision
        }
        if round.wasStopped {
            // The members that were not sent to are tried where the group continues.
            return situation.ending == nil ? giveBack(recipient) : end(recipient, situation)
        }
        recipient.history.attempts += 1
        if recipient.history.attempts == 1 { recipient.history.firstAttemptMs = round.startedMs }
        return finished(round.progress, recipient, situation.job, unreached: .failed)
    }

    /// The result of a group whose trying ends before every member is reached; nil for any other recipient.
    ///
    /// - Parameter status: the result's if FCM reached no member.
    func finishedRounds(_ status: ResultStatus, _ recipient: HeldRecipient, _ job: SendJob) -> Decision? {
        guard case .members(var progress) = recipient.text else { return nil }
        progress.giveUp()
        return finished(progress, recipient, job, unreached: status)
    }

    /// The group's result: `sent` if FCM reached at least one member.
    private func finished(
        _ progress: GroupProgress,
        _ recipient: HeldRecipient,
        _ job: SendJob,
        unreached: ResultStatus
    ) -> Decision {
        var status = ResultStatus.sent
        let failure = progress.failure(httpStatus: job.answersOverHTTP ? 200 : 0)
        if !progress.isReached { status = failure == nil || recipient.history.maybeDuplicate ? .unknown : unreached }
        var record = record(status, recipient, job)
        record.messageID = progress.messageID
        record.failure = status == .failed ? failure : nil
        record.failedMembers = progress.failed.isEmpty ? nil : progress.failed
        return decision(record, recipient, job)
    }
}
