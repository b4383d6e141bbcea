internal import FanfareModel
internal import StreamWire

/// FCM's refusals of the project or of one recipient, and what an accepted send says of them.
extension SendMachine {
    // MARK: Refused

    /// Whether FCM has accepted a send of the project since it last refused this recipient.
    ///
    /// - Parameter name: the recipient's ``RecipientRateLimiter/name(_:kind:)``.
    func isProjectAccepted(since name: String) -> Bool {
        gate.blockReason == nil && !gate.doubted.contains(ByteHash.of(name))
    }

    /// Follows a refusal. The recipient waits; Redis decides whether it is evidence enough against the project.
    mutating func refuse(_ failure: Failure, _ position: Int, _ request: InFlightRequest) {
        let slot = request.slot
        let name = rateName(position, slot)
        // Before the refusal counts.
        let isAccepted = isProjectAccepted(since: name)
        // The answer is one, however many recipients share the request.
        if position == request.positions[0] { report(failure, of: name, position, request) }
        settle(.blockProject(failure), position, slot, startedMs: request.started.projectMs, isAccepted: isAccepted)
    }

    /// Writes a refusal, and counts it as evidence unless the recipient is refused on its own account.
    ///
    /// - Parameter name: the recipient's ``RecipientRateLimiter/name(_:kind:)``.
    mutating func report(_ failure: Failure, of name: String, _ position: Int, _ request: InFlightRequest) {
        let slot = request.slot
        guard !batches.held[slot].state.isLost else { return }
        let reason = BlockReason.text(failure)
        touch(slot)
        batches.held[slot].pending.refusal = reason
        let isOwn = batches.held[slot].recipients[position].history.refusals > 0 && isProjectAccepted(since: name)
        if gate.blockReason == nil, logLimits.admitsRefusal(now: now.monotonicNs) {
            let job = sendJob(slot).id
            log(
                .warning,
                "FCM refused the project or one recipient: the recipient waits a minute while others are sent.",
                [("job", job), ("reason", reason)]
            )
        }
        // Refused for the first time before an accepted send: no evidence any more.
        let isOlder =
            batches.held[slot].unsent.hasAwaitedToken(position)
            && evidence.acceptedSends > batches.held[slot].acceptedBeforeToken
        guard !isOwn, !isOlder else { return }
        gate.doubt(ByteHash.of(name), now: now.monotonicNs)
        batches.held[slot].pending.refused.append(ByteHash.of(name))
        batches.held[slot].pending.refusedCredential = request.fingerprint
    }

    /// After a 401 a newer access token is fetched first, and the recipient waits for it while others are sent. Sends wait,
    /// too, when the evidence is that FCM refuses the token itself.
    ///
    /// - Returns: whether the recipient is sent again with a newer token, or needs nothing more.
    mutating func isRepeatedWithNewToken(_ position: Int, _ request: InFlightRequest) -> Bool {
        let slot = request.slot
        let state = batches.held[slot].state
        let isCurrent = request.credential == gate.resources.credentialGeneration
        if state == .sending {
            guard settings.canRefreshCredential else { return false }
            // A recipient that was refused before was refused a minute ago or more, so with an older token than a fresh one.
            let hadOlder = batches.held[slot].recipients[position].history.refusals > 0 && gate.resources.isTokenFresh
            if isCurrent, hadOlder, evidence.isAccepted(request.fingerprint) { return false }
            guard awaitToken(position, request, hasNewer: !isCurrent) else { return false }
        }
        if isCurrent, settings.canRefreshCredential, !renewsInBackground(request, for: rateName(position, slot)) {
            actions.append(.refuseCredential(request.credential))
        }
        switch state {
        case .ending: end(position, slot)
        case .sending: break
        case .preparing, .stopping, .lost, .closed, .released: giveBack(position, slot)
        }
        return true
    }

    /// Puts a recipient back until a newer access token has come; false if that has happened to it before.
    private mutating func awaitToken(_ position: Int, _ request: InFlightRequest, hasNewer: Bool) -> Bool {
        let slot = request.slot
        guard batches.held[slot].unsent.awaitToken(position, hasNewer: hasNewer) else { return false }
        batches.held[slot].acceptedBeforeToken = evidence.acceptedSends
        enqueue(slot)
        if hasNewer {
            if request.isProbe { gate.mayProbe = true }
            return true
        }
        if request.isProbe { batches.held[slot].awaitsTokenForProbe = true }
        batches.held[slot].refusedToken = request.credential
        batches.held[slot].awaitsTokenUntilNs = now.monotonicNs.adding(Self.tokenPatienceNs)
        awaitsToken = true
        return true
    }

    /// Renews the access token of an accepted credential while sends continue: when one recipient has refused it since the
    /// last accepted send, however many messages are for it, or when it is fresh. A fresh token of a credential that FCM
    /// accepts is in order, so its 401s are the recipients' or the project's.
    ///
    /// - Parameter name: the recipient's ``RecipientRateLimiter/name(_:kind:)``.
    mutating func renewsInBackground(_ request: InFlightRequest, for name: String) -> Bool {
        guard evidence.isAccepted(request.fingerprint) else { return logRefusedToken(request) }
        switch evidence.doubt(request.credential, recipient: ByteHash.of(name)) {
        case .first: actions.append(.renewCredential(request.credential))
        case .sameRecipient: break
        case .otherRecipient where gate.resources.isTokenFresh: break
        case .otherRecipient: return logRefusedToken(request)
        }
        return true
    }

    private mutating func logRefusedToken(_ request: InFlightRequest) -> Bool {
        if logLimits.admitsRefusedToken(now: now.monotonicNs) {
            let job = sendJob(request.slot).id
            log(.warning, "FCM refused the access token: sends wait for the next one.", [("job", job)])
        }
        return false
    }

    /// Recipients wait so long for the next token, in nanoseconds. One is fetched within ten seconds.
    private static var tokenPatienceNs: UInt64 { 15_000_000_000 }

    /// Lets recipients be sent for which a newer access token has come, or does not come.
    mutating func releaseWhereTokenCame() {
        awaitsToken = false
        for slot in batches.slots(where: { $0.unsent.awaitsToken }) {
            let isCurrent = gate.resources.credentialGeneration == batches.held[slot].refusedToken
            if isCurrent, now.monotonicNs < batches.held[slot].awaitsTokenUntilNs {
                awaitsToken = true
                continue
            }
            batches.held[slot].unsent.tokenCame()
            if batches.held[slot].awaitsTokenForProbe, gate.blockReason != nil { gate.mayProbe = true }
            batches.held[slot].awaitsTokenForProbe = false
            recount(slot)
        }
        if awaitsToken { armWake(now.monotonicNs.adding(100_000_000)) }
    }

    // MARK: Accepted

    /// FCM accepted a send: the project and the credential are in order.
    mutating func accepted(_ request: InFlightRequest) {
        let slot = request.slot
        guard !batches.held[slot].source.isManagement, !batches.held[slot].state.isLost else { return }
        let isNew = evidence.accept(request.fingerprint)
        let isInDoubt = gate.blockReason != nil || !gate.doubted.isEmpty
        guard isInDoubt || isNew else { return }
        touch(slot)
        if request.fingerprint != 0 { batches.held[slot].pending.acceptedCredential = request.fingerprint }
        guard isInDoubt else { return }
        batches.held[slot].pending.projectAnswers = true
        // What was refused before it is no evidence any more.
        batches.held[slot].pending.refused = []
    }

    // MARK: Blocked

    /// Recipients at hand of jobs that FCM has not refused since the project is blocked.
    var unsentOfOtherJobs: Int {
        (queue.singles.places + queue.fanouts.places).reduce(0) { count, place in
            guard !isRefused(place.slot) else { return count }
            return count + batches.held[place.slot].unsent.left + (batches[roundOf: place.slot]?.unsent.count ?? 0)
        }
    }

    /// Whether FCM has refused a recipient of the batch's job since the project is blocked.
    func isRefused(_ slot: Int) -> Bool {
        !evidence.refusedJobs.isEmpty && evidence.refusedJobs.contains(batches.held[slot].source.job)
    }

    /// Whether a batch may be sent from while the project is blocked.
    @inline(__always)
    mutating func maySendWhileBlocked(_ slot: Int) -> Bool {
        // A block holds sends only: operations go to other APIs.
        gate.blockReason == nil || gate.mayProbe || (batches.held[slot].isProbe && !batches.held[slot].wasSent)
            || batches.held[slot].source.isManagement
    }

    /// A send begins: while the project is blocked, it is its probe.
    mutating func useProbe() -> Bool {
        guard gate.blockReason != nil else { return false }
        gate.mayProbe = false
        return true
    }

    /// Gives refused recipients back while the project is blocked: another one is its probe, and their time runs on.
    mutating func returnRefused() {
        guard let reason = gate.blockReason else { return }
        let slots = (queue.singles.places + queue.fanouts.places).map(\.slot)
        for slot in slots
        where batches.held[slot].hasRefused && !batches.held[slot].isProbe && batches.held[slot].state == .sending {
            batches.held[slot].hasRefused = false
            dequeue(slot)
            let situation = situation(slot)
            for position in batches.held[slot].unsent.removeAll() {
                for shared in batches.held[slot].unsent.sharing(position) {
                    let recipient = batches.held[slot].recipients[shared]
                    write(rules.whileBlocked(recipient, situation, reason: reason), shared, slot)
                }
            }
            closeIfDone(slot)
        }
    }

    /// Logs that the project is blocked, once a block, and once a minute where blocks come and go.
    mutating func logBlock(_ reason: String) {
        guard logLimits.admitsBlock(now: now.monotonicNs) else { return }
        log(.error, "The project cannot send and is paused; one send a minute probes it.", [("reason", reason)])
    }

    mutating func logUnblock() {
        if logLimits.admitsBlockEnd() { log(.notice, "The project sends again.") }
    }

    /// The credential itself is refused: one recipient is parked with the reason, which blocks the project until its
    /// probe; the others wait as they are.
    mutating func parkOne(_ failure: Failure) {
        // A send is preferred to an operation: the block is about sends.
        for slot in (queue.singles.places + queue.fanouts.places + queue.managed.places).map(\.slot) {
            if gate.blockReason != nil, !batches.held[slot].isProbe { continue }
            guard let position = batches.held[slot].unsent.nextWithoutSend() else { continue }
            recount(slot)
            for shared in batches.held[slot].unsent.sharing(position) {
                let recipient = batches.held[slot].recipients[shared]
                write(OutcomeRules.Decision(recipient: recipient, fate: .park(failure)), shared, slot)
            }
            return
        }
    }
}
