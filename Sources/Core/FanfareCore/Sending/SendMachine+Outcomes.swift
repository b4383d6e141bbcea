internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// Requests are answered, or given up.
extension SendMachine {
    mutating func completed(
        _ tag: Int,
        _ outcome: RequestOutcome,
        _ now: Instant,
        _ actions: inout [SendAction]
    ) {
        guard let request = requests.remove(tag) else { return }
        let slot = request.slot
        batches[slot].inFlight -= 1
        let job = sendJob(slot)
        guard case .success(let adapter) = job.adapter else { preconditionFailure("a request has an adapter") }
        // Sent again from here at once: the lanes themselves hold back while their origin cannot be reached.
        if case .unsent = outcome, request.member == nil, batches[slot].state == .sending,
            batches[slot].unsent.repeatUnsent(request.positions)
        {
            return enqueue(slot)
        }
        judge(outcome, of: request, job, adapter, now)
        logCutBody(outcome, request, job, &actions)
        let afterNs = now.monotonicNs - min(now.monotonicNs, request.startedNs)
        actions.append(.meter(.answered(verdicts, isManagement: adapter.isManagement, afterNs: afterNs)))
        if !adapter.isManagement { learn(from: outcome, request, now) }
        if let member = request.member {
            answered(verdicts[0], member: member, request, now, &actions)
        } else {
            note(slot, now, &actions)
            for index in verdicts.indices {
                settle(verdicts[index], request.positions[index], request, adapter, now, &actions)
            }
        }
        retire(slot, now, &actions)
    }

    /// Replaces ``verdicts`` by those on the recipients of a request.
    private mutating func judge(
        _ outcome: RequestOutcome,
        of request: InFlightRequest,
        _ job: SendJob,
        _ adapter: ProtocolAdapter,
        _ now: Instant
    ) {
        var judged: [Verdict] = []
        swap(&judged, &verdicts)
        adapter.judge(
            outcome,
            of: recipients(request.slot, request.positions, request.member, job),
            kind: request.member == nil ? job.spec.kind : .token,
            nowMs: now.wallMs,
            atMostOnce: job.isAtMostOnce,
            into: &judged
        )
        swap(&judged, &verdicts)
    }

    /// Learns how FCM fares from an answer to a send.
    private mutating func learn(from outcome: RequestOutcome, _ request: InFlightRequest, _ now: Instant) {
        if outcome.isAnswer {
            answers.add(refusedForMs: verdicts.lazy.compactMap(\.refusedForMs).max(), now: now.monotonicNs)
        }
        limit.answered(verdicts, startedNs: request.startedNs, inFlight: inFlight + 1, now: now.monotonicNs)
        let isOverloaded = verdicts.contains(where: \.isOverload)
        batches[request.slot].isOverloaded = isOverloaded
        // One sign of overload does not count; a share of them does.
        if isOverloaded, limit.isOverloaded { lastOverloadNs = now.monotonicNs }
    }

    private mutating func settle(
        _ verdict: Verdict,
        _ position: Int,
        _ request: InFlightRequest,
        _ adapter: ProtocolAdapter,
        _ now: Instant,
        _ actions: inout [SendAction]
    ) {
        let slot = request.slot
        if adapter.isManagement {
            let decided = decide(verdict, credential: request.credential, now, &actions)
            return settle(decided, position, slot, startedMs: request.startedMs, now, &actions)
        }
        guard case .refreshCredential(let failure) = verdict else {
            return settle(verdict, position, slot, startedMs: request.startedMs, now, &actions)
        }
        actions.append(.refuseCredential(request.credential))
        switch batches[slot].state {
        case .ending:
            let situation = situation(slot, now)
            for shared in batches[slot].unsent.sharing(position) {
                write(rules.end(batches[slot].recipients[shared], situation), shared, slot, now, &actions)
            }
        case .sending where settings.canRefreshCredential && batches[slot].unsent.repeatRefused(position): enqueue(slot)
        case .sending: settle(.blockProject(failure), position, slot, startedMs: request.startedMs, now, &actions)
        case .preparing, .stopping, .lost, .closed, .released: giveBack(position, slot, now, &actions)
        }
    }

    /// Writes what a verdict makes of a position and of those with the same recipient.
    mutating func settle(
        _ verdict: Verdict,
        _ position: Int,
        _ slot: Int,
        startedMs: Int64,
        _ now: Instant,
        _ actions: inout [SendAction]
    ) {
        // One draw for equal recipients: they wait together, or each would be sent on its own.
        let draw = random.unit()
        let situation = situation(slot, now)
        for shared in batches[slot].unsent.sharing(position) {
            let recipient = batches[slot].recipients[shared]
            let decision = rules.settle(verdict, recipient, startedMs: startedMs, situation, random: draw)
            write(decision, shared, slot, now, &actions)
        }
    }

    // MARK: What an answer says of the project

    /// Follows what the verdicts say of the message and of the project. It comes before any of them is settled: whether
    /// the message is wrong is judged by the first answers that Redis hears of, which must not be the good ones alone.
    private mutating func note(_ slot: Int, _ now: Instant, _ actions: inout [SendAction]) {
        var sent = 0
        for verdict in verdicts {
            if verdict.isAccepted { sent += 1 } else { note(verdict, slot, now, &actions) }
        }
        if sent > 0 { countAnswers(sent, endsBlock: true, slot, now, &actions) }
    }

    private mutating func note(_ verdict: Verdict, _ slot: Int, _ now: Instant, _ actions: inout [SendAction]) {
        if let milliseconds = verdict.holdProjectMs {
            hold(milliseconds: milliseconds, now)
            writeHold(milliseconds, slot, now, &actions)
        }
        switch verdict {
        case .sent, .sentPartly, .managed: countAnswers(1, endsBlock: true, slot, now, &actions)
        case .failed(let failure):
            let isBad = failure.action == .fixMessage
            countAnswers(1, bad: isBad ? failure : nil, endsBlock: true, slot, now, &actions)
            if failure.error == .thirdPartyAuthError { alert(failure, now, &actions) }
        case .retry(let retry) where retry.cause == .answered:
            countAnswers(1, endsBlock: false, slot, now, &actions)
        case .retry, .unknown, .refreshCredential, .blockProject: break
        }
    }

    /// Logs, once a minute, that the APNs or web push credential is at fault. A token does not tell its platform, so
    /// nothing can be paused.
    private mutating func alert(_ failure: Failure, _ now: Instant, _ actions: inout [SendAction]) {
        guard now.projectMs - lastCredentialAlertMs >= 60_000 else { return }
        lastCredentialAlertMs = now.projectMs
        let message: StaticString =
            "FCM cannot reach Apple or a web push service: renew the APNs key or the VAPID key in the Firebase project."
        actions.append(.log(SendLog(.error, message, [("error", failure.rawError)])))
    }

    // MARK: Operations

    /// Operations go to other APIs than sends, so a refusal fails the operation and does not block the project.
    private mutating func decide(
        _ verdict: Verdict,
        credential: Int,
        _ now: Instant,
        _ actions: inout [SendAction]
    ) -> Verdict {
        var decided = verdict
        switch verdict {
        case .refreshCredential(let failure):
            switch refusals.refused(credential, canRenew: settings.canRefreshCredential) {
            case .renew:
                actions.append(.renewCredential(credential))
                return .retry(Retry(failure: failure))
            case .fail: decided = .failed(failure)
            }
        case .sent, .sentPartly, .managed, .failed: refusals.accepted()
        case .retry, .unknown, .blockProject: break
        }
        if case .failed(let failure) = decided, failure.action == .fixCredentials { logRefusal(failure, now, &actions) }
        return decided
    }

    /// Logs each refusal once a minute: FCM refuses a large job once for each of its requests.
    private mutating func logRefusal(_ failure: Failure, _ now: Instant, _ actions: inout [SendAction]) {
        loggedRefusals = loggedRefusals.filter { now.projectMs - $0.value < 60_000 }
        guard loggedRefusals[failure.rawError] == nil else { return }
        loggedRefusals[failure.rawError] = now.projectMs
        let message: StaticString =
            "An API refuses the project's operations, which fail; sends go on. Enable the API, or grant the right to it."
        let metadata = [(name: "error", value: failure.rawError), ("http_status", "\(failure.httpStatus)")]
        actions.append(.log(SendLog(.error, message, metadata)))
    }

    // MARK: Members of a group

    private mutating func answered(
        _ verdict: Verdict,
        member: String,
        _ request: InFlightRequest,
        _ now: Instant,
        _ actions: inout [SendAction]
    ) {
        let slot = request.slot
        var verdict = verdict
        switch verdict {
        case .refreshCredential(let failure):
            actions.append(.refuseCredential(request.credential))
            // Refused again with a token that is newer than the one refused before: a third will not help.
            let isNewer = refusedForMember.map { request.credential > $0 } ?? false
            if isNewer || !settings.canRefreshCredential { verdict = .blockProject(failure) }
            refusedForMember = request.credential
        case .sent: refusedForMember = nil
        default: break
        }
        note(verdict, slot, now, &actions)
        if case .retry(let retry) = verdict, retry.scope == .device {
            let untilMs = now.projectMs + max(retry.floorMs, retry.retryAfterMs ?? 0)
            refuseRate(RecipientRateLimiter.name(member, kind: .token), untilMs: untilMs, slot, now, &actions)
        }
        batches[slot].round?.answered(verdict, member: member)
        recount(slot)
        settleRound(slot, now, &actions)
    }

    /// Settles the group of a round in which every member is answered.
    mutating func settleRound(_ slot: Int, _ now: Instant, _ actions: inout [SendAction]) {
        guard let round = batches[slot].round, round.isOver else { return }
        batches[slot].round = nil
        let recipient = batches[slot].recipients[round.position]
        let decision = rules.settle(round, recipient, situation(slot, now), random: random.unit())
        write(decision, round.position, slot, now, &actions)
    }

    // MARK: Logs

    /// Logs a cut answer to a multicast: its 200 only says that FCM looked at the request; the results are in the body.
    private func logCutBody(
        _ outcome: RequestOutcome,
        _ request: InFlightRequest,
        _ job: SendJob,
        _ actions: inout [SendAction]
    ) {
        guard request.positions.count > 1, !job.isManagement, case .answered(let answer) = outcome,
            answer.status == 200, !answer.isComplete
        else { return }
        let message: StaticString =
            "The answer to a multicast was cut short: recipients without a result in it may have been reached."
        let inDoubt = verdicts.count(where: \.isUnanswered)
        actions.append(
            .log(
                SendLog(
                    .warning,
                    message,
                    [("job", job.id), ("recipients", "\(request.positions.count)"), ("in_doubt", "\(inDoubt)")]
                )
            )
        )
    }
}

extension Verdict {
    /// FCM took the message, or carried the operation out.
    fileprivate var isAccepted: Bool {
        switch self {
        case .sent, .sentPartly, .managed: true
        case .failed, .unknown, .retry, .refreshCredential, .blockProject: false
        }
    }

    /// FCM's result for the recipient did not arrive.
    fileprivate var isUnanswered: Bool {
        switch self {
        case .unknown: true
        case .retry(let retry): retry.cause == .unanswered
        case .sent, .sentPartly, .managed, .failed, .refreshCredential, .blockProject: false
        }
    }
}
