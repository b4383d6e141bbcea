internal import FanfareModel
internal import StreamWire

/// Results and retries are gathered for a few milliseconds, then written in one atomic step a batch.
extension SendMachine {
    // MARK: Records

    /// Results that a flush has memory for from its first one on, unless the batch has fewer: growing copies them.
    private static var leastLikely: Int { 64 }

    /// Bytes of results that are written without waiting for more: an entry has at most these and one result.
    private static var largeFlushBytes: Int { 1 << 20 }

    /// Follows a decision on a recipient.
    mutating func write(_ decision: OutcomeRules.Decision, _ position: Int, _ slot: Int) {
        guard batches.held[slot].recipients[position].progress != .settled else { return }
        if sendJob(slot).reportsFirstAttempts { reportFirstAttempt(decision, position, slot) }
        batches.held[slot].recipients[position] = decision.recipient
        if let untilMs = decision.rateRefusedUntilMs {
            refuseRate(rateName(position, slot), untilMs: untilMs, slot)
        }
        switch decision.fate {
        case .result(let record): writeResult(record, position, slot)
        case .retry(let dueMs, let cause):
            if let cause { actions.append(.meter(.retried(cause, delayMs: dueMs - now.projectMs))) }
            writeRetry(position, slot, dueMs: dueMs, isParked: false)
        case .park(let failure): park(failure, position, slot)
        }
    }

    /// Tells Redis the outcome of a recipient's first attempt, if it had none before: `stop_if` counts them.
    private mutating func reportFirstAttempt(_ decision: OutcomeRules.Decision, _ position: Int, _ slot: Int) {
        guard batches.held[slot].recipients[position].history.attempts == 0 else { return }
        let outcome: FirstAttempt?
        switch decision.fate {
        case .result(let record) where record.status == .failed && record.attempts == 0: outcome = .unsendable
        case .result(let record): outcome = FirstAttempt(record.status, error: record.failure?.error)
        case .retry: outcome = decision.recipient.history.attempts > 0 ? .retryable : nil
        case .park: outcome = nil
        }
        if let outcome { batches.held[slot].pending.firstAttempts.append(outcome.letter) }
    }

    /// The ``RecipientRateLimiter/name(_:kind:)`` of a position.
    @inline(__always)
    mutating func rateName(_ position: Int, _ slot: Int) -> String {
        let (job, recipient) = (sendJob(slot), batches.held[slot].recipients[position])
        return RecipientRateLimiter.name(recipient.name.string, kind: recipient.kind ?? job.spec.kind)
    }

    /// Gives a recipient back that was never sent, with all equal ones.
    mutating func giveBack(_ position: Int, _ slot: Int) {
        for shared in batches.held[slot].unsent.sharing(position) {
            write(rules.giveBack(batches.held[slot].recipients[shared]), shared, slot)
        }
    }

    /// Lets a recipient, and all equal ones, wait in Redis for its rate.
    mutating func waitForRate(_ position: Int, _ slot: Int, untilMs: Int64) {
        let situation = situation(slot)
        for shared in batches.held[slot].unsent.sharing(position) {
            let recipient = batches.held[slot].recipients[shared]
            write(rules.waitForRate(recipient, untilMs: untilMs, situation), shared, slot)
        }
    }

    private mutating func writeResult(_ record: ResultRecord, _ position: Int, _ slot: Int) {
        let job = sendJob(slot)
        guard batches.held[slot].finish(position) else { return }
        actions.append(.meter(.finished(record.status, record.failure?.error, maybeDup: record.maybeDup)))
        touch(slot)
        if record.status == .sent, job.isSubscribing {
            let token = batches.held[slot].recipients[position].name
            batches.held[slot].pending.appendSubscribed(token, topic: job.spec.subscription)
        }
        let likely = job.sharesRequests ? settings.flushCount : max(Self.leastLikely, batches.held[slot].lastFlushCount)
        let expected =
            batches.held[slot].state.isEnding ? batches.held[slot].open + 1 : min(batches.held[slot].open + 1, likely)
        if record.attempts == 0 { batches.held[slot].pending.untried += 1 } else { gate.uncommitted += 1 }
        batches.held[slot].pending.append(record, policy: job.results, expected: expected)
        flushIfFull(slot)
    }

    private mutating func writeRetry(_ position: Int, _ slot: Int, dueMs: Int64, isParked: Bool) {
        let recipient = batches.held[slot].recipients[position]
        guard batches.held[slot].finish(position) else { return }
        touch(slot)
        // A batch that is lost decides nothing: its recipients belong to the next holder.
        if !batches.held[slot].state.isLost {
            batches.held[slot].pending.retries.append(
                RecordCall.Retry(
                    index: recipient.index,
                    dueMs: dueMs,
                    parked: isParked,
                    packed: recipient.history.packed(with: recipient.stored.string)
                )
            )
            gate.uncommitted += 1
        }
        flushIfFull(slot)
    }

    private mutating func park(_ failure: Failure, _ position: Int, _ slot: Int) {
        let reason = BlockReason.text(failure)
        logBlock(reason)
        gate.block(reason, now: now.monotonicNs)
        touch(slot)
        batches.held[slot].pending.blockReason = reason
        writeRetry(position, slot, dueMs: now.projectMs, isParked: true)
    }

    /// The probe proved nothing about the project: the next one begins at once.
    mutating func useNoProbe(_ slot: Int) {
        touch(slot)
        batches.held[slot].pending.probeUnused = true
    }

    /// Reports the first attempts of a fan-out, by which Redis judges its message. Equal recipients share an attempt.
    mutating func reportAnswers(_ positions: Positions, _ slot: Int) {
        guard sendJob(slot).judgesMessage else { return }
        // FCM's refusal of a whole multicast is one answer, however many recipients it names.
        let isOneAnswer = verdicts.allSatisfy { $0.refusalOfMessage != nil }
        for index in verdicts.indices.prefix(isOneAnswer ? 1 : verdicts.count)
        where verdicts[index].countsAttempt && batches.held[slot].recipients[positions[index]].history.attempts == 0 {
            if let detail = verdicts[index].refusalOfMessage {
                batches.held[slot].pending.appendRefusal(detail)
            } else {
                batches.held[slot].pending.answers += 1
            }
        }
    }

    mutating func writeHold(_ milliseconds: Int64, _ slot: Int) {
        touch(slot)
        batches.held[slot].pending.holdMs = max(batches.held[slot].pending.holdMs, milliseconds)
    }

    /// FCM refused a recipient for its rate: every send to it waits, in any job and any worker.
    mutating func refuseRate(_ name: String, untilMs: Int64, _ slot: Int) {
        rates.refuse(name, untilMs: untilMs, nowMs: now.projectMs)
        touch(slot)
        batches.held[slot].pending.refusedRates.append(RecordCall.RefusedRate(recipient: name, untilMs: untilMs))
    }

    /// The last send of the batch has begun; the fan-out slot may pass on at once.
    mutating func writeAllSent(_ slot: Int) {
        guard !batches.held[slot].state.isOver else { return }
        batches.held[slot].pending.allSent = true
        touch(slot)
        flush(slot)
    }

    /// Asks Redis to confirm that sends below this position may begin.
    mutating func writeWatermark(_ watermark: Int, _ slot: Int) {
        batches.held[slot].unsent.watermark.requested = watermark
        touch(slot)
        batches.held[slot].pending.watermark = watermark
        flush(slot)
    }

    // MARK: Flushes

    mutating func touch(_ slot: Int) {
        if !batches.held[slot].isDirty {
            batches.held[slot].isDirty = true
            flushes.append(slot)
        }
        guard flushes.arm() else { return }
        actions.append(.arm(.flush, at: now.monotonicNs + UInt64(max(0, settings.flushMs)) * 1_000_000))
    }

    /// The last result of a batch is written at once: a producer that waits for the job does not wait for a timer, too.
    ///
    /// A batch of an ending job has its unsent recipients written in one flush: each flush costs Redis a step.
    private mutating func flushIfFull(_ slot: Int) {
        let count = batches.held[slot].pending.results.count + batches.held[slot].pending.retries.count
        let isLarge = batches.held[slot].pending.results.objectBytes >= Self.largeFlushBytes
        let isFull = isLarge || (count >= settings.flushCount && !batches.held[slot].state.isEnding)
        if isFull || batches.held[slot].open == 0 { flush(slot) }
    }

    mutating func flushAll() {
        let slots = flushes.removeAll()
        for slot in slots where batch(slot)?.isDirty ?? false {
            flush(slot)
            retire(slot)
        }
        flushes.reuse(slots)
    }

    private mutating func flush(_ slot: Int) {
        batches.held[slot].isDirty = false
        let source = batches.held[slot].source
        var call = RecordCall(source)
        swap(&call, &batches.held[slot].pending)
        batches.held[slot].lastFlushCount = call.results.count
        guard batches.held[slot].state.isLost else { return submit(call, slot) }
        gate.uncommitted -= call.uncommitted
        gate.uncommitted += call.results.count
        if !call.results.isEmpty { submitLate(call, source, slot) }
    }

    /// Writes as the batch's holder.
    private mutating func submit(_ call: RecordCall, _ slot: Int) {
        var call = call
        if !call.blockReason.isEmpty { gate.blockWritten(now: now.monotonicNs) }
        if !call.refused.isEmpty { gate.doubtWritten(now: now.monotonicNs) }
        // The batch closes only after every earlier flush: a call that overtook one would leave it without a batch.
        call.finish = batches.held[slot].open == 0 && batches.held[slot].openFlushes == 0
        if call.finish, batches.held[slot].isProbe, !batches.held[slot].wasSent { call.probeUnused = true }
        batches.held[slot].flushNumber += 1
        batches.held[slot].openFlushes += 1
        call.number = batches.held[slot].flushNumber
        if call.number == 1 { call.compact = batches.held[slot].compact }
        actions.append(.flush(Flush(slot: slot, source: batches.held[slot].source, call: call)))
    }

    /// Writes results as facts, which Redis takes from anyone.
    private mutating func submitLate(_ call: RecordCall, _ source: BatchSource, _ slot: Int?) {
        var late = RecordCall(source)
        late.late = true
        late.results = source.isManagement ? call.results : call.results.flaggedMaybeDuplicate()
        late.feedback = call.feedback
        late.subscribed = call.subscribed
        if let slot {
            batches.held[slot].flushNumber += 1
            batches.held[slot].openFlushes += 1
        }
        actions.append(.flush(Flush(slot: slot, source: source, call: late)))
    }

    /// Writes again the results that Redis may have forgotten. Facts are set once, so a repeated one does no harm.
    mutating func replay(_ flush: Flush) {
        gate.uncommitted += flush.call.results.count
        let slot = batches.slots { $0.source == flush.source && !$0.state.isPreparing }.first
        submitLate(flush.call, flush.source, slot)
    }

    mutating func flushed(_ flush: Flush, _ reply: RecordReply) {
        gate.uncommitted -= flush.uncommitted
        if case .ok(let guarded) = reply, let pausedBy = guarded.paused {
            reportPause(pausedBy, guarded.reason, job: flush.source.job)
        }
        // Redis did not take the proof of the credential: the next accepted send brings it again.
        if flush.call.acceptedCredential != nil {
            switch reply {
            case .ok: break
            case .stale, .gone: evidence.forgetAccepted()
            }
        }
        guard let slot = flush.slot else { return }
        batches.held[slot].openFlushes -= 1
        switch reply {
        case .ok(let guarded): confirmed(flush.call, guarded, slot)
        case .stale:
            if !flush.call.late, !flush.call.results.isEmpty {
                // Written again as facts. The batch waits for them.
                gate.uncommitted += flush.call.results.count
                submitLate(flush.call, flush.source, slot)
            }
            lose(slot, .taken)
            return
        case .gone:
            // The flush before it, which Redis took, ended the job, and its batches with it.
            guard flush.call.onlyCloses else { return lose(slot, .taken) }
            batches.held[slot].state = batches.held[slot].state.after(.close)
        }
        retire(slot)
    }

    private mutating func confirmed(_ call: RecordCall, _ guarded: GuardedReply, _ slot: Int) {
        if !call.late { batches.held[slot].confirmedFlush = max(batches.held[slot].confirmedFlush, call.number) }
        if let asked = call.watermark { grant(guarded.watermark ?? asked, asked: asked, guarded.waitMs, slot) }
        if call.finish { batches.held[slot].state = batches.held[slot].state.after(.close) }
        closeIfDone(slot)
    }

    /// Lets sends begin below a watermark.
    ///
    /// - Parameters:
    ///   - asked: the watermark that was asked for; guards or a pause of the job may have allowed less.
    ///   - waitMs: after so long a higher one may be asked for.
    private mutating func grant(_ granted: Int, asked: Int, _ waitMs: Int64, _ slot: Int) {
        let known = batches.held[slot].unsent.watermark.confirmed
        let confirmed = max(known, granted)
        batches.held[slot].guardedSinceNs =
            granted < asked ? min(confirmed > known ? .max : batches.held[slot].guardedSinceNs, now.monotonicNs) : .max
        batches.held[slot].unsent.watermark.confirmed = confirmed
        if granted < asked {
            batches.held[slot].unsent.watermark.requested = confirmed
            let waitNs = UInt64(min(max(1, waitMs), Self.longestAskMs)) * 1_000_000
            batches.held[slot].nextAskNs = now.monotonicNs + waitNs
            if batches.held[slot].state == .sending { armWake(batches.held[slot].nextAskNs) }
        }
        if batches.held[slot].isQueued { recount(slot) }
        // It was stopped while it asked.
        guard batches.held[slot].state == .stopping else { return }
        for position in batches.held[slot].unsent.removeBelowWatermark() { giveBack(position, slot) }
    }

    private static var longestAskMs: Int64 { 60_000 }

    private mutating func reportPause(_ pausedBy: PauseGuard, _ reason: String, job: String) {
        actions.append(.meter(.paused(pausedBy)))
        let metadata = [(name: "job", value: job), (name: "reason", value: reason)]
        switch pausedBy {
        case .canary: log(.notice, "A job has finished its canary and waits; resume or cancel it.", metadata)
        case .stopIf:
            log(.warning, "A job is paused by its stop_if: look at its results, then resume or cancel it.", metadata)
        case .message:
            log(
                .warning,
                "A job is paused: FCM refuses its message. Look at its results, then resume or cancel it.",
                metadata
            )
        }
    }

    /// Closes a batch whose last recipient was reported in a flush that could not say so yet.
    mutating func closeIfDone(_ slot: Int) {
        guard batches.held[slot].needsClosing else { return }
        submit(RecordCall(batches.held[slot].source), slot)
    }
}

extension HeldBatch {
    /// Whether only the closing flush is missing.
    fileprivate var needsClosing: Bool { open == 0 && !state.isOver && openFlushes == 0 && !isDirty }
}

extension RecordCall {
    /// Whether it says only that every recipient is accounted for.
    fileprivate var onlyCloses: Bool { finish && results.isEmpty && retries.isEmpty }

    init(_ source: BatchSource) { self.init(job: source.job, batch: source.batch, epoch: source.epoch) }

    /// Appends a result and its feedback.
    ///
    /// - Parameters:
    ///   - policy: which results the job's results stream gets.
    ///   - expected: how many results the flush is likely to hold.
    mutating func append(_ record: ResultRecord, policy: ResultsPolicy, expected: Int) {
        // A result that `failures` leaves out is kept in case it turns out to be in doubt.
        let object: ResultBuffer.Object =
            record.needsRecording(policy) ? .wanted : policy == .failures ? .spare : .none
        results.append(
            index: Int(record.index),
            status: record.status,
            object: object,
            maybeDup: record.maybeDup,
            failure: record.failure.map { FailureKind($0.error, $0.action) },
            fingerprint: TokenFingerprint(of: record.recipient)
        ) { bytes in
            record.appendJSON(to: &bytes, isSpare: object == .spare)
        }
        results.reserve(expected)
        feedback.append(contentsOf: record.feedback)
    }

    /// Appends a token whose subscription succeeded. Redis keeps its hash in a count, so the hash must not change.
    mutating func appendSubscribed(_ token: SharedText, topic: String) {
        if subscribed.isEmpty {
            subscribed.append(contentsOf: topic.utf8)
            subscribed.append(UInt8(ascii: "\n"))
        }
        let hash = ByteHash.of(token)
        for shift in stride(from: 0, to: 64, by: 8) {
            subscribed.append(UInt8(truncatingIfNeeded: hash >> UInt64(shift)))
        }
    }
}

/// Why a project is blocked, in words that say what to do.
enum BlockReason {
    static func text(_ failure: Failure) -> String {
        // The credential was refused before a send: its reason names the remedy.
        if failure.httpStatus == 0, failure.error == .thirdPartyAuthError, !failure.rawError.isEmpty {
            return failure.rawError
        }
        let status = failure.httpStatus == 0 ? "" : "HTTP \(failure.httpStatus) "
        let remedy: String
        switch failure.httpStatus {
        case 401: remedy = "the credential is refused: check it and its project"
        case 403: remedy = "no permission: grant the identity roles/firebasecloudmessaging.admin, or enable the FCM API"
        case 404: remedy = "not found: check the project id and the endpoint"
        default: remedy = "check the project's credentials"
        }
        return "\(status)\(failure.rawError.isEmpty ? failure.error.rawValue : failure.rawError): \(remedy)"
    }
}
