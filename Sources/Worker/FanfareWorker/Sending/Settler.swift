internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Turns what the wire said into what is written: a result, or a retry with its own delay.
final class Settler {
    let project: ProjectContext
    private let recorder: Recorder
    private let policy: RetryPolicy
    private let rateLimiter: RecipientRateLimiter
    /// How long a recipient in doubt waits for an answer that may still arrive.
    private static let doubtfulMs: Int64 = 2_000
    private var lastCredentialAlertMs: Int64 = 0

    init(project: ProjectContext, recorder: Recorder, policy: RetryPolicy, rateLimiter: RecipientRateLimiter) {
        self.project = project
        self.recorder = recorder
        self.policy = policy
        self.rateLimiter = rateLimiter
    }

    // MARK: Before a send

    /// Asked before every send. A recipient that may no longer be sent gets its result here.
    func maySend(_ position: Int, of batch: ActiveBatch, adapter: ProtocolAdapter, nowMs: Int64) -> Bool {
        let recipient = batch.recipients[position]
        if batch.job.ending != nil {
            end(position, of: batch)
            return false
        }
        if let failure = adapter.refusal(of: recipient.text, kind: batch.job.spec.kind) {
            fail(failure, position: position, of: batch)
            return false
        }
        let history = recipient.history
        let expiresAt = batch.job.spec.expiresAt
        var isOver = expiresAt > 0 && project.wallMs >= expiresAt
        // With a lifetime of 0 only one attempt may be looked at, and the policy has decided whether that has been.
        if history.attempts > 0,
            let lifetime = adapter.lifetimeMs(firstAttemptMs: project.wall(history.firstAttemptMs)), lifetime > 0
        {
            isOver = isOver || nowMs - history.firstAttemptMs >= lifetime
        }
        guard isOver else { return true }
        // With an unanswered attempt behind it nobody knows whether it arrived.
        let status: ResultStatus = history.maybeDuplicate ? .unknown : .expired
        if finishRounds(status, position: position, of: batch) { return false }
        for position in batch.group(position) { write(status, position: position, of: batch) }
        return false
    }

    // MARK: After a send

    /// What the answer to a request says of the message and of the project. Before any of it is settled: whether the
    /// message is wrong is judged by the first of these that Redis hears of, which must not be the good ones alone.
    func note(_ verdicts: AnswerVerdicts, of batch: ActiveBatch) {
        var sent = verdicts.sent
        for other in verdicts.others {
            switch other.verdict {
            case .sent, .sentPartly, .managed: sent += 1
            default: noteAnswer(other.verdict, of: batch)
            }
        }
        noteSent(sent, of: batch)
    }

    /// Writes the usual verdicts on a request for many, all at once.
    ///
    /// - Returns: the indices of those that are still to be settled one by one.
    func settleSent(_ verdicts: AnswerVerdicts, of flight: Flight) -> [Int] {
        guard verdicts.count > 1 else { return [0] }
        let (closed, others) = flight.batch.closeSent(verdicts, of: flight.positions, startedMs: flight.startedMs)
        recorder.sent(closed, of: flight, verdicts)
        return others
    }

    /// Writes a verdict for a position and for those that share its recipient.
    func settle(_ verdict: Verdict, position: Int, of batch: ActiveBatch, startedMs: Int64) {
        let verdict = meaning(of: verdict, position: position, of: batch)
        // One draw for all that share the recipient: they wait together, or each would be sent on its own. A draw is a
        // system call, so what needs none makes none.
        let random = verdict.mayWait ? Double.random(in: 0..<1) : 0
        for position in batch.group(position) {
            if case .sent(let messageID, nil) = verdict,
                let result = batch.closeSent(position, messageID: messageID, startedMs: startedMs)
            {
                recorder.result(result, position: position, of: batch)
                continue
            }
            count(verdict, position: position, of: batch, startedMs: startedMs)
            switch verdict {
            case .sentPartly(let messageID, let tokens) where batch.job.spec.kind == .group && !tokens.isEmpty:
                beginRounds(messageID, tokens, position: position, of: batch, random: random)
            case .retry(let retry) where batch.job.spec.kind == .group && !retry.members.isEmpty:
                beginRounds("", retry.members, refusal: retry, position: position, of: batch, random: random)
            case .retry(let retry): wait(retry, position: position, of: batch, random: random)
            case .blockProject(let failure), .refreshCredential(let failure):
                park(failure, position: position, of: batch)
            case .sent, .sentPartly, .managed, .failed, .unknown:
                let recipient = batch.recipients[position]
                let record = ResultRecord(
                    verdict,
                    index: Int64(recipient.index),
                    kind: batch.job.spec.kind,
                    recipient: batch.name(of: position),
                    attempts: recipient.history.attempts,
                    maybeDup: recipient.history.maybeDuplicate
                )
                if let record { report(record, position: position, of: batch) }
            }
        }
    }

    /// After an attempt in doubt, a refusal of an operation on a group may be that attempt's success.
    private func meaning(of verdict: Verdict, position: Int, of batch: ActiveBatch) -> Verdict {
        let spec = batch.job.spec
        guard spec.operation.isGroupOperation, batch.recipients[position].history.maybeDuplicate else { return verdict }
        return GroupOperation.afterDoubt(verdict, op: spec.operation, key: spec.groupKey)
    }

    func report(_ record: ResultRecord, position: Int, of batch: ActiveBatch) {
        var record = record
        // There is nothing that a device could have shown twice.
        if batch.job.isManagement { record.maybeDup = false }
        if batch.job.spec.operation.isGroupOperation {
            record.groupName = batch.job.spec.groupName
            // The recipient is called by the name where no key is known.
            if record.status != .sent { record.recipient = batch.job.spec.groupKey }
        }
        recorder.result(record, position: position, of: batch)
    }

    func count(_ verdict: Verdict, position: Int, of batch: ActiveBatch, startedMs: Int64) {
        var history = batch.recipients[position].history
        switch verdict {
        case .retry(let retry) where !retry.countsAttempt:
            // The end of trying is counted from the first try of any kind; a lifetime only from one that counts.
            if history.firstAttemptMs == 0 { history.firstAttemptMs = startedMs }
        case .blockProject, .refreshCredential: break
        case .retry, .sent, .sentPartly, .managed, .failed, .unknown:
            history.attempts += 1
            if history.attempts == 1 { history.firstAttemptMs = startedMs }
        }
        batch.recipients[position].history = history
    }

    func fail(_ failure: Failure, position: Int, of batch: ActiveBatch) {
        for position in batch.group(position) { write(.failed, failure, position: position, of: batch) }
    }

    func failUntranslatable(position: Int, of batch: ActiveBatch) {
        guard case .failure(let error) = batch.job.adapter else { return }
        fail(
            Failure(error: .invalidArgument, action: .fixMessage, rawError: error.reason),
            position: position,
            of: batch
        )
    }

    /// A recipient that an earlier worker may have sent to. At most once: its fate stays unknown. Otherwise it is sent
    /// again, last, so that an answer that is still on its way can arrive first.
    func settleDoubtful(_ position: Int, of batch: ActiveBatch) {
        var history = batch.recipients[position].history
        history.attempts += 1
        if history.attempts == 1 { history.firstAttemptMs = project.nowMs }
        batch.recipients[position].history = history
        var lifetimeMs: Int64?
        if case .success(let adapter) = batch.job.adapter {
            lifetimeMs = adapter.lifetimeMs(firstAttemptMs: project.wall(history.firstAttemptMs))
        }
        // The end of trying holds for doubt, too.
        let isOver = project.nowMs - history.firstAttemptMs >= policy.triesEndMs
        if batch.job.isAtMostOnce || lifetimeMs == 0 || isOver || batch.job.ending != nil {
            if finishRounds(.unknown, position: position, of: batch) { return }
            return write(.unknown, position: position, of: batch)
        }
        history.maybeDuplicate = batch.job.remembersDoubt
        schedule(at: project.nowMs + Self.doubtfulMs, history, position: position, of: batch, parked: false)
    }

    /// A recipient that was never sent goes back as it was.
    func giveBack(_ position: Int, of batch: ActiveBatch) {
        for position in batch.group(position) {
            let history = batch.recipients[position].history
            // Before everything that waits: it is no retry, and has waited already.
            schedule(at: 1, history, position: position, of: batch, parked: false)
        }
    }

    /// A recipient that may not be sent to before its time: it waits in Redis, with no attempt counted.
    func hold(_ position: Int, of batch: ActiveBatch, untilMs: Int64) {
        if batch.job.ending != nil { return end(position, of: batch) }
        for position in batch.group(position) {
            schedule(at: untilMs, batch.recipients[position].history, position: position, of: batch, parked: false)
        }
    }

    /// A recipient of a job that ends before its time. With an unanswered attempt behind it nobody knows whether it
    /// was reached.
    func end(_ position: Int, of batch: ActiveBatch) {
        guard let status = batch.job.ending else { return }
        if finishRounds(status, position: position, of: batch) { return }
        for position in batch.group(position) {
            let isDoubtful = batch.recipients[position].history.maybeDuplicate
            write(isDoubtful ? .unknown : status, position: position, of: batch)
        }
    }

    /// A batch without an open recipient only has to be closed.
    func close(_ batch: ActiveBatch) { recorder.closeIfDone(batch) }

    // MARK: Parts

    func wait(_ retry: Retry, position: Int, of batch: ActiveBatch, random: Double) {
        let recipient = batch.recipients[position]
        var history = recipient.history
        var lifetimeMs: Int64?
        if case .success(let adapter) = batch.job.adapter {
            lifetimeMs = adapter.lifetimeMs(firstAttemptMs: project.wall(history.firstAttemptMs))
        }
        let decision = policy.decide(
            retry,
            attempts: history.attempts,
            firstAttemptMs: history.firstAttemptMs,
            nowMs: project.nowMs,
            lifetimeMs: lifetimeMs,
            expiresAtMs: batch.job.spec.expiresAt > 0 ? project.projectTime(batch.job.spec.expiresAt) : 0,
            random: random
        )
        if case .wait(let untilMs) = decision {
            if batch.job.isDoubtful(retry) { history.maybeDuplicate = true }
            if batch.job.ending != nil {
                batch.recipients[position].history = history
                return end(position, of: batch)
            }
            if retry.scope == .device || retry.scope == .topic {
                let name = RecipientRateLimiter.name(batch.name(of: position), kind: batch.job.spec.kind)
                refuseRate(name, untilMs: untilMs, of: batch)
            }
            // Legacy retries of one second share a request, so they are moved to its end; none is sent earlier.
            let due = batch.job.sharesRequests ? (untilMs + 999) / 1_000 * 1_000 : untilMs
            project.meters.retried(retry.cause, delayMs: due - project.nowMs)
            return schedule(at: due, history, position: position, of: batch, parked: false)
        }
        if finishRounds(decision.statusOfGroup, position: position, of: batch) { return }
        // A message's failure says `maybe_dup`; here the status has to.
        if batch.job.isManagement, history.maybeDuplicate { return write(.unknown, position: position, of: batch) }
        let record = ResultRecord(
            decision,
            index: Int64(recipient.index),
            kind: batch.job.spec.kind,
            recipient: batch.name(of: position),
            attempts: history.attempts,
            maybeDup: history.maybeDuplicate
        )
        if let record { report(record, position: position, of: batch) }
    }

    func refuseRate(_ name: String, untilMs: Int64, of batch: ActiveBatch) {
        rateLimiter.refused(name, untilMs: untilMs)
        recorder.refuseRate(RecordCall.RefusedRate(recipient: name, untilMs: untilMs), batch: batch)
    }

    /// The APNs or web push credential is at fault. A token does not tell its platform, so nothing can be paused; a
    /// person has to hear of it, but not once for every token.
    private func alert(_ failure: Failure) {
        let nowMs = project.nowMs
        guard nowMs - lastCredentialAlertMs >= 60_000 else { return }
        lastCredentialAlertMs = nowMs
        project.logger.error(
            "FCM cannot reach Apple or a web push service: renew the APNs key or the VAPID key in the Firebase project.",
            metadata: ["error": "\(failure.rawError)"]
        )
    }

    private func park(_ failure: Failure, position: Int, of batch: ActiveBatch) {
        let reason = BlockReason.text(failure)
        if project.blockReason == nil {
            project.logger.error(
                "The project cannot send and is paused; one send a minute probes it.",
                metadata: ["reason": "\(reason)"]
            )
        }
        project.blockReason = reason
        recorder.blockProject(reason, batch: batch)
        schedule(
            at: project.nowMs,
            batch.recipients[position].history,
            position: position,
            of: batch,
            parked: true
        )
    }

    private func schedule(
        at dueMs: Int64,
        _ history: RecipientHistory,
        position: Int,
        of batch: ActiveBatch,
        parked: Bool
    ) {
        let recipient = batch.recipients[position]
        recorder.retry(
            RecordCall.Retry(
                index: recipient.index,
                dueMs: dueMs,
                parked: parked,
                packed: history.packed(with: recipient.value)
            ),
            position: position,
            of: batch
        )
    }

    private func write(_ status: ResultStatus, _ failure: Failure? = nil, position: Int, of batch: ActiveBatch) {
        let recipient = batch.recipients[position]
        report(
            ResultRecord(
                index: Int64(recipient.index),
                kind: batch.job.spec.kind,
                recipient: batch.name(of: position),
                status: status,
                failure: failure,
                attempts: recipient.history.attempts,
                maybeDup: recipient.history.maybeDuplicate
            ),
            position: position,
            of: batch
        )
    }

    func noteAnswer(_ verdict: Verdict, of batch: ActiveBatch) {
        if let milliseconds = verdict.holdProjectMs {
            project.hold(milliseconds: milliseconds)
            recorder.holdProject(milliseconds, batch: batch)
        }
        switch verdict {
        case .sent, .sentPartly, .managed: return noteSent(1, of: batch)
        case .failed(let failure):
            recorder.answered(batch, bad: failure.action == .fixMessage ? failure : nil)
            if failure.error == .thirdPartyAuthError { alert(failure) }
        case .retry(let retry) where retry.cause == .answered:
            return recorder.answered(batch)
        case .retry, .unknown, .refreshCredential, .blockProject:
            return
        }
        endBlock(batch)
    }

    private func noteSent(_ count: Int, of batch: ActiveBatch) {
        guard count > 0 else { return }
        recorder.answered(batch, count)
        endBlock(batch)
    }

    /// Reports that the API of sends answers, which ends a block. Operations do not count: they go to other APIs.
    private func endBlock(_ batch: ActiveBatch) {
        if project.blockReason != nil, !batch.job.isManagement { recorder.projectAnswers(batch) }
    }
}

extension Verdict {
    /// What it asks for may be another attempt, after a time that is drawn.
    fileprivate var mayWait: Bool {
        switch self {
        case .retry, .sentPartly: true
        case .sent, .managed, .failed, .unknown, .refreshCredential, .blockProject: false
        }
    }
}
