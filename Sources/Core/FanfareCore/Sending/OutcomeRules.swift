internal import FanfareModel
internal import StreamWire

/// The rules that give a recipient its result, or another attempt at a time.
///
/// Before a send:
///
/// | recipient | becomes |
/// |---|---|
/// | of a job that ended | the job's status; `unknown` after an unanswered attempt |
/// | not a token that FCM takes | `failed`, `INVALID_ARGUMENT` |
/// | past `expires_at` or the message's lifetime | `expired`; `unknown` after an unanswered attempt |
/// | possibly sent by an earlier worker, but not a token that FCM takes | `failed`, `INVALID_ARGUMENT` |
/// | possibly sent by an earlier worker, at most once or tried for an hour | `unknown` |
/// | possibly sent by an earlier worker, otherwise | a retry after 2 s, flagged `maybe_dup` |
///
/// After a send:
///
/// | verdict | becomes |
/// |---|---|
/// | `sent`, `managed`, `listed`, `failed`, `unknown` | that result |
/// | `sentPartly` of a device group | a round over the members that FCM did not reach |
/// | `retry` | a retry at the time that ``RetryPolicy`` says, or the result of the end of trying |
/// | `blockProject`, `refreshCredential` | a retry after a minute, or `failed`; see ``RefusalRules`` |
struct OutcomeRules: Sendable {
    /// The rules' input besides the recipient.
    struct Situation {
        var job: SendJob
        /// The status that ends the job; nil while it continues.
        var ending: ResultStatus?
        var now: Instant
        /// Whether FCM has accepted a send of the project since the recipient's last refusal.
        var isProjectAccepted = true
    }

    /// The outcome of a recipient.
    struct Decision: Equatable {
        enum Fate: Equatable {
            case result(ResultRecord)
            /// Another attempt, not before this time, in the project's time. `cause` is nil where no answer asks for it.
            case retry(dueMs: Int64, cause: Retry.Cause?)
            /// The recipient was not sent to, and waits for the project's probe.
            case park(Failure)
        }

        /// The recipient with its history, a group with its members' progress.
        var recipient: HeldRecipient
        var fate: Fate
        /// FCM refused the recipient's rate until this time, in the project's time; nil if it did not.
        var rateRefusedUntilMs: Int64?
    }

    /// How long a recipient in doubt waits for an answer that may still arrive, in milliseconds.
    static let doubtfulMs: Int64 = 2_000

    var policy = RetryPolicy()

    // MARK: Before a send

    /// The fate of a recipient that may not be sent; nil if it may.
    ///
    /// Inlined: nearly every recipient may be sent, and a nil is as large as a decision.
    @inline(__always)
    func beforeSend(_ recipient: HeldRecipient, _ situation: Situation) -> Decision? {
        let (job, now) = (situation.job, situation.now)
        if situation.ending != nil { return end(recipient, situation) }
        guard let adapter = job.adapter else { return nil }
        if let refused = refused(recipient, job, adapter) { return refused }
        let history = recipient.history
        let expiresAt = job.spec.expiresAt
        var isOver = expiresAt > 0 && now.wallMs >= expiresAt
        // With a lifetime of 0 the policy has decided already whether FCM may have looked at an attempt.
        if history.attempts > 0,
            let lifetime = job.lifetimeMs(of: recipient, firstAttemptMs: now.wall(history.firstAttemptMs)), lifetime > 0
        {
            isOver = isOver || now.projectMs - history.firstAttemptMs >= lifetime
        }
        guard isOver else { return nil }
        return finalResult(history.maybeDuplicate ? .unknown : .expired, recipient, job)
    }

    /// The result of a recipient that no worker can have sent to; nil for any other.
    @inline(__always)
    func refused(_ recipient: HeldRecipient, _ job: SendJob, _ adapter: ProtocolAdapter) -> Decision? {
        adapter.ask { $0.failure(of: recipient, kind: job.spec.kind) }.map { result(.failed, $0, recipient, job) }
    }

    /// The fate of a recipient that an earlier worker may have sent to. It waits, so that an answer in flight can arrive
    /// first.
    func doubtful(_ recipient: HeldRecipient, _ situation: Situation) -> Decision {
        let (job, now) = (situation.job, situation.now)
        var recipient = recipient
        recipient.history.attempts += 1
        if recipient.history.attempts == 1 { recipient.history.firstAttemptMs = now.projectMs }
        let first = recipient.history.firstAttemptMs
        let isOver = now.projectMs - first >= policy.triesEndMs
        if job.isAtMostOnce || isOver || situation.ending != nil
            || job.lifetimeMs(of: recipient, firstAttemptMs: now.wall(first)) == 0
        {
            return finalResult(.unknown, recipient, job)
        }
        recipient.history.maybeDuplicate = job.remembersDoubt
        return Decision(
            recipient: recipient,
            fate: .retry(dueMs: now.projectMs + Self.doubtfulMs, cause: nil)
        )
    }

    /// The fate of a recipient of a job that ends before its time.
    func end(_ recipient: HeldRecipient, _ situation: Situation) -> Decision {
        guard let status = situation.ending else { preconditionFailure("the job continues") }
        if let members = finishedRounds(status, recipient, situation.job) { return members }
        // It is not known whether an unanswered attempt arrived.
        return result(recipient.history.maybeDuplicate ? .unknown : status, nil, recipient, situation.job)
    }

    /// The fate of a recipient that is not sent to from here and goes back: it is due before everything that waits.
    func giveBack(_ recipient: HeldRecipient) -> Decision {
        Decision(recipient: recipient, fate: .retry(dueMs: 1, cause: nil))
    }

    /// The fate of a recipient whose rate allows no send before this time, in the project's time.
    func waitForRate(_ recipient: HeldRecipient, untilMs: Int64, _ situation: Situation) -> Decision {
        if situation.ending != nil { return end(recipient, situation) }
        return Decision(recipient: recipient, fate: .retry(dueMs: untilMs, cause: nil))
    }

    // MARK: After a send

    /// The fate of a recipient after an attempt.
    ///
    /// - Parameters:
    ///   - startedMs: when the attempt began, in the project's time.
    ///   - random: from 0 up to, not including, 1.
    func settle(
        _ verdict: Verdict,
        _ recipient: HeldRecipient,
        startedMs: Int64,
        _ situation: Situation,
        random: Double
    ) -> Decision {
        let job = situation.job
        let verdict = meaning(of: verdict, recipient, job)
        var recipient = recipient
        count(verdict, &recipient.history, startedMs: startedMs)
        switch verdict {
        case .sentPartly(let messageID, let tokens) where job.spec.kind == .group && !tokens.isEmpty:
            return members(tokens, messageID, refusal: nil, recipient, situation, random: random)
        case .retry(let retry) where job.spec.kind == .group && !retry.members.isEmpty:
            return members(retry.members, "", refusal: retry, recipient, situation, random: random)
        case .retry(let retry): return wait(retry, recipient, situation, random: random)
        case .blockProject(let failure), .refreshCredential(let failure):
            return refuse(failure, recipient, situation, random: random)
        case .sent, .sentPartly, .managed, .listed, .failed, .unknown:
            var record = record(.sent, recipient, job)
            guard record.apply(verdict) else { preconditionFailure("the verdict is final") }
            return decision(record, recipient, job)
        }
    }

    /// A group that is not registered has no living member. After an attempt in doubt, a refusal of an operation on a
    /// group may be that attempt's success.
    private func meaning(of verdict: Verdict, _ recipient: HeldRecipient, _ job: SendJob) -> Verdict {
        if job.spec.kind == .group, case .failed(var failure) = verdict, failure.error == .unregistered {
            (failure.error, failure.action) = (.emptyGroup, .none)
            return .failed(failure)
        }
        guard job.spec.operation.isGroupOperation, recipient.history.maybeDuplicate else { return verdict }
        return ProtocolAdapter.afterDoubt(verdict, job.spec)
    }

    private func count(_ verdict: Verdict, _ history: inout RecipientHistory, startedMs: Int64) {
        switch verdict {
        case .retry(let retry) where !retry.countsAttempt:
            // The end of trying is counted from the first try of any kind, a lifetime from the first that counts.
            if history.firstAttemptMs == 0 { history.firstAttemptMs = startedMs }
        case .retry, .blockProject, .refreshCredential, .sent, .sentPartly, .managed, .listed, .failed, .unknown:
            history.attempts += 1
            if history.attempts == 1 { history.firstAttemptMs = startedMs }
        }
    }

    /// - Parameter attempts: by which the wait grows; nil for the recipient's own.
    func wait(
        _ retry: Retry,
        _ recipient: HeldRecipient,
        _ situation: Situation,
        attempts: Int? = nil,
        random: Double
    ) -> Decision {
        let (job, now) = (situation.job, situation.now)
        let history = recipient.history
        let decision = policy.decide(
            retry,
            attempts: attempts ?? history.attempts,
            firstAttemptMs: history.firstAttemptMs,
            nowMs: now.projectMs,
            lifetimeMs: job.lifetimeMs(of: recipient, firstAttemptMs: now.wall(history.firstAttemptMs)),
            expiresAtMs: job.spec.expiresAt > 0 ? now.projectTime(job.spec.expiresAt) : 0,
            random: random
        )
        let status: ResultStatus
        var failure: Failure?
        switch decision {
        case .wait(let untilMs): return wait(untilMs, retry, recipient, situation)
        case .expired: status = .expired
        case .unknown: status = .unknown
        case .giveUp(let last): (status, failure) = (.failed, last)
        }
        if let members = finishedRounds(status, recipient, job) { return members }
        // The failure of a message says `maybe_dup`; the status of an operation has to.
        if job.isManagement, history.maybeDuplicate { return result(.unknown, nil, recipient, job) }
        return result(status, failure, recipient, job)
    }

    private func wait(
        _ untilMs: Int64,
        _ retry: Retry,
        _ recipient: HeldRecipient,
        _ situation: Situation
    ) -> Decision {
        var recipient = recipient
        if situation.job.isDoubtful(retry) { recipient.history.maybeDuplicate = true }
        if situation.ending != nil { return end(recipient, situation) }
        // Retries of one second share a request, so they move to its end; none is sent earlier.
        let due = situation.job.sharesRequests ? (untilMs + 999) / 1_000 * 1_000 : untilMs
        var waiting = Decision(recipient: recipient, fate: .retry(dueMs: due, cause: retry.cause))
        if retry.scope == .device || retry.scope == .topic { waiting.rateRefusedUntilMs = untilMs }
        return waiting
    }

    // MARK: Results

    /// A result that ends the rounds of a group, too.
    private func finalResult(_ status: ResultStatus, _ recipient: HeldRecipient, _ job: SendJob) -> Decision {
        finishedRounds(status, recipient, job) ?? result(status, nil, recipient, job)
    }

    func result(
        _ status: ResultStatus,
        _ failure: Failure?,
        _ recipient: HeldRecipient,
        _ job: SendJob
    ) -> Decision {
        var record = record(status, recipient, job)
        record.failure = failure
        return decision(record, recipient, job)
    }

    @inline(__always)
    func record(_ status: ResultStatus, _ recipient: HeldRecipient, _ job: SendJob) -> ResultRecord {
        ResultRecord(
            index: Int64(recipient.index),
            recipient: recipient.name.string,
            attempts: recipient.history.attempts,
            kind: recipient.kind ?? job.spec.kind,
            status: status,
            maybeDup: recipient.history.maybeDuplicate
        )
    }

    @inline(__always)
    func decision(_ record: ResultRecord, _ recipient: HeldRecipient, _ job: SendJob) -> Decision {
        Decision(recipient: recipient, fate: .result(job.isManagement ? operationRecord(record, job) : record))
    }

    /// The record of an operation as the results stream gets it.
    private func operationRecord(_ record: ResultRecord, _ job: SendJob) -> ResultRecord {
        var record = record
        // No device shows an operation twice.
        record.maybeDup = false
        if job.spec.operation.isGroupOperation {
            record.operation = .group(name: job.spec.groupName)
            // Where no key is known, the recipient is called by the group's name.
            if record.status != .sent { record.recipient = job.spec.groupKey }
        }
        return record
    }
}
