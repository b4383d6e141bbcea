internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// Requests are answered, or given up.
extension SendMachine {
    mutating func completed(_ tag: Int, _ outcome: RequestOutcome) {
        guard let request = requests.remove(tag) else { return }
        let slot = request.slot
        batches.held[slot].inFlight -= 1
        let job = sendJob(slot)
        // Sent again from here at once: the lanes themselves hold back while their origin cannot be reached.
        if case .unsent = outcome, request.member == nil, batches.held[slot].state == .sending,
            batches.held[slot].unsent.repeatUnsent(request.positions)
        {
            if request.isProbe { gate.mayProbe = true }
            return enqueue(slot)
        }
        if job.isManagement, continues(after: outcome, request, job) { return retire(slot) }
        judge(outcome, of: request, job)
        logCutBody(outcome, request, job)
        let afterNs = now.monotonicNs - min(now.monotonicNs, request.started.monotonicNs)
        actions.append(.meter(.answered(verdicts, isManagement: job.isManagement, afterNs: afterNs)))
        if !job.isManagement { learn(from: outcome, request) }
        if let member = request.member {
            answered(verdicts[0], member: member, request)
        } else {
            reportAnswers(request.positions, slot)
            applyVerdicts(request)
            for index in verdicts.indices { settle(verdicts[index], request.positions[index], request) }
        }
        retire(slot)
    }

    /// Sends the next request of a recipient whose answer is not whole; false if it is.
    private mutating func continues(
        after outcome: RequestOutcome,
        _ request: InFlightRequest,
        _ job: SendJob
    ) -> Bool {
        let (slot, position) = (request.slot, request.positions[0])
        let earlier = batches.held[slot].continuations[position]
        guard let rest = job.adapter?.ask({ $0.continuation(after: outcome, earlier) }) else { return false }
        if batches.held[slot].state == .sending {
            batches.held[slot].continuations[position] = rest
            batches.held[slot].unsent.repeatPassed(position)
            enqueue(slot)
        } else {
            waitForRate(position, slot, untilMs: now.projectMs)
        }
        return true
    }

    /// Replaces ``verdicts`` by those on the recipients of a request.
    private mutating func judge(_ outcome: RequestOutcome, of request: InFlightRequest, _ job: SendJob) {
        guard let adapter = job.adapter else { preconditionFailure("a request has an adapter") }
        var judged: [Verdict] = []
        swap(&judged, &verdicts)
        adapter.judge(
            outcome,
            of: recipients(request.slot, request.positions, request.member, job),
            JudgementTerms(
                kind: request.member == nil ? kind(of: request.positions[0], request.slot, job) : .token,
                nowMs: now.wallMs,
                atMostOnce: job.isAtMostOnce
            ),
            into: &judged
        )
        swap(&judged, &verdicts)
    }

    @inline(__always)
    private mutating func kind(of position: Int, _ slot: Int, _ job: SendJob) -> RecipientKind {
        job.spec.isPersonal ? batches.held[slot].recipients[position].kind ?? .token : job.spec.kind
    }

    /// Learns how FCM fares from an answer to a send.
    private mutating func learn(from outcome: RequestOutcome, _ request: InFlightRequest) {
        let refusedForMs = verdicts.lazy.compactMap(\.refusedForMs).max()
        // A cut answer proves nothing but a Retry-After in its headers.
        if outcome.isAnswer, !outcome.isCut || refusedForMs != nil {
            let isFailing = verdicts.allSatisfy(\.isOverload)
            answers.add(refusedForMs: refusedForMs, isFailing: isFailing, now: now.monotonicNs)
        }
        limit.answered(
            verdicts,
            isCut: outcome.isCut,
            startedNs: request.started.monotonicNs,
            inFlight: requests.count + 1,
            now: now.monotonicNs
        )
        batches.held[request.slot].isOverloaded = outcome.isCut || verdicts.contains(where: \.isOverload)
    }

    private mutating func settle(_ verdict: Verdict, _ position: Int, _ request: InFlightRequest) {
        let slot = request.slot
        if batches.held[slot].source.isManagement {
            batches.held[slot].continuations[position] = nil
            let decided = decide(verdict, credential: request.credential)
            return settle(decided, position, slot, startedMs: request.started.projectMs)
        }
        switch verdict {
        case .refreshCredential(let failure):
            if !isRepeatedWithNewToken(position, request) { refuse(failure, position, request) }
        case .blockProject(let failure): refuse(failure, position, request)
        default: settle(verdict, position, slot, startedMs: request.started.projectMs)
        }
    }

    /// Writes what a verdict makes of a position and of all positions with the same recipient.
    ///
    /// - Parameter isAccepted: see ``OutcomeRules/Situation/isProjectAccepted``.
    mutating func settle(
        _ verdict: Verdict,
        _ position: Int,
        _ slot: Int,
        startedMs: Int64,
        isAccepted: Bool = true
    ) {
        // One draw for equal recipients: they wait together, or each would be sent on its own.
        let draw = random.unit()
        var situation = situation(slot)
        situation.isProjectAccepted = isAccepted
        for shared in batches.held[slot].unsent.sharing(position) {
            let recipient = batches.held[slot].recipients[shared]
            let decision = rules.settle(verdict, recipient, startedMs: startedMs, situation, random: draw)
            write(decision, shared, slot)
        }
    }

    // MARK: Project

    /// Applies the verdicts to the project.
    private mutating func applyVerdicts(_ request: InFlightRequest) {
        var sent = 0
        for verdict in verdicts {
            if verdict.isAccepted { sent += 1 } else { apply(verdict, request) }
        }
        if sent > 0 { accepted(request) }
    }

    private mutating func apply(_ verdict: Verdict, _ request: InFlightRequest) {
        let slot = request.slot
        if let failure = verdict.requestToWait { logLimits.askedToWait(failure.words, now: now.monotonicNs) }
        if let milliseconds = verdict.holdProjectMs {
            hold(milliseconds: milliseconds)
            writeHold(milliseconds, slot)
        }
        switch verdict {
        case .sent, .sentPartly, .managed, .listed: accepted(request)
        case .failed(let failure):
            // It judges the recipient or the message, and says nothing of the project.
            if request.isProbe { useNoProbe(slot) }
            if failure.error == .thirdPartyAuthError { alert(failure) }
        case .retry, .unknown, .refreshCredential, .blockProject: break
        }
    }

    /// Logs, once a minute, that the APNs or web push credential is at fault. The platform of a token is not known, so
    /// nothing can be paused.
    private mutating func alert(_ failure: Failure) {
        guard logLimits.admitsAlert(now: now.monotonicNs) else { return }
        log(
            .error,
            "FCM cannot reach Apple or a web push service: check the project's APNs credentials and its VAPID key.",
            [("error", failure.rawError)]
        )
    }

    // MARK: Operations

    /// Operations go to other APIs than sends, so a refusal fails the operation and does not block the project.
    private mutating func decide(_ verdict: Verdict, credential: Int) -> Verdict {
        var decided = verdict
        switch verdict {
        case .refreshCredential(let failure):
            switch operationToken.refused(credential, canRenew: settings.canRefreshCredential) {
            case .renew:
                actions.append(.renewCredential(credential))
                return .retry(Retry(failure: failure))
            case .fail: decided = .failed(failure)
            }
        case .sent, .sentPartly, .managed, .listed, .failed: operationToken.accepted()
        case .retry, .unknown, .blockProject: break
        }
        if case .failed(let failure) = decided, failure.action == .fixCredentials { logRefusal(failure) }
        return decided
    }

    private mutating func logRefusal(_ failure: Failure) {
        guard logLimits.admitsOperation(failure.rawError, nowMs: now.projectMs) else { return }
        log(
            .error,
            "An API refuses the project's operations, which fail; sends continue. Enable the API, or grant the right to it.",
            [("error", failure.rawError), ("http_status", "\(failure.httpStatus)")]
        )
    }

    // MARK: Members of a group

    private mutating func answered(_ verdict: Verdict, member: String, _ request: InFlightRequest) {
        let slot = request.slot
        let name = RecipientRateLimiter.name(member, kind: .token)
        var verdict = verdict
        switch verdict {
        case .refreshCredential(let failure) where renewsInBackground(request, for: name):
            verdict = .blockProject(failure)
        case .refreshCredential(let failure):
            // Refused again with a token that is newer than the one refused before: a third will not help.
            if evidence.refuseForMember(request.credential) || !settings.canRefreshCredential {
                verdict = .blockProject(failure)
            } else {
                actions.append(.refuseCredential(request.credential))
            }
        case .sent: evidence.acceptForMember()
        default: break
        }
        apply(verdict, request)
        if case .blockProject(let failure) = verdict { report(failure, of: name, request.positions[0], request) }
        if case .retry(let retry) = verdict, retry.scope == .device {
            let untilMs = now.projectMs + max(retry.floorMs, retry.retryAfterMs ?? 0)
            refuseRate(name, untilMs: untilMs, slot)
        }
        batches[roundOf: slot]?.answered(verdict, member: member)
        recount(slot)
        settleRound(slot)
    }

    /// Settles the group of a round in which every member is answered.
    mutating func settleRound(_ slot: Int) {
        guard let round = batches[roundOf: slot], round.isOver else { return }
        batches[roundOf: slot] = nil
        let recipient = batches.held[slot].recipients[round.position]
        let decision = rules.settle(round, recipient, situation(slot), random: random.unit())
        write(decision, round.position, slot)
    }

    // MARK: Logs

    /// Logs a cut answer to a multicast: the results were in its body, whatever the status.
    private mutating func logCutBody(_ outcome: RequestOutcome, _ request: InFlightRequest, _ job: SendJob) {
        guard request.positions.count > 1, !job.isManagement, case .answered(let answer) = outcome,
            answer.status == 200, !answer.isComplete
        else { return }
        let inDoubt = verdicts.count(where: \.isUnanswered)
        log(
            .warning,
            "The answer to a multicast was cut short: recipients without a result in it may have been reached.",
            [("job", job.id), ("recipients", "\(request.positions.count)"), ("in_doubt", "\(inDoubt)")]
        )
    }
}

extension Failure {
    /// Such as `HTTP 429 RATE_LIMIT_EXCEEDED`.
    fileprivate var words: String {
        (httpStatus > 0 ? "HTTP \(httpStatus) " : "") + (rawError.isEmpty ? error.rawValue : rawError)
    }
}

extension Verdict {
    /// FCM took the message, or carried the operation out.
    fileprivate var isAccepted: Bool {
        switch self {
        case .sent, .sentPartly, .managed, .listed: true
        case .failed, .unknown, .retry, .refreshCredential, .blockProject: false
        }
    }

    /// Whether it is of an attempt: the request left, or may have, and was processed, or may have been.
    var countsAttempt: Bool {
        switch self {
        case .sent, .sentPartly, .managed, .listed, .failed, .unknown: true
        case .retry(let retry): retry.countsAttempt
        case .refreshCredential, .blockProject: false
        }
    }

    /// The answer, if it asks the project to wait, or counts towards a hold of it; nil for any other verdict.
    fileprivate var requestToWait: Failure? {
        switch self {
        case .retry(let retry) where retry.scope == .project || refusedForMs != nil: retry.failure
        case .unknown(let failure, _) where refusedForMs != nil: failure
        case .retry, .unknown, .sent, .sentPartly, .managed, .listed, .failed, .refreshCredential, .blockProject: nil
        }
    }

    /// What FCM's refusal of the message names, empty if it names nothing; nil for any other verdict. The detail stands
    /// after a colon in ``Failure/rawError``.
    var refusalOfMessage: String? {
        guard case .failed(let failure) = self, failure.error == .invalidArgument, failure.action == .fixMessage
        else { return nil }
        let parts = failure.rawError.split(separator: ": ", maxSplits: 1)
        return parts.count == 2 ? String(parts[1]) : ""
    }

    /// FCM's result for the recipient did not arrive.
    fileprivate var isUnanswered: Bool {
        switch self {
        case .unknown: true
        case .retry(let retry): retry.cause == .unanswered
        case .sent, .sentPartly, .managed, .listed, .failed, .refreshCredential, .blockProject: false
        }
    }
}
