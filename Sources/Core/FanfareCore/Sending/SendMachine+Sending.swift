internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// The part of the machine that begins sends.
extension SendMachine {
    /// Begins every send that may begin.
    ///
    /// - Parameters:
    ///   - room: requests that each route takes now.
    ///   - output: what the driver has to do is appended to it.
    public mutating func send(within room: Room, now: Instant, into output: inout [SendAction]) {
        guard !queue.isEmpty else { return }
        self.now = now
        swap(&actions, &output)
        defer { swap(&actions, &output) }
        if gate.blockReason != nil { returnRefused() }
        if awaitsToken { releaseWhereTokenCame() }
        switch gate.reason(for: .sending, now: now.monotonicNs) {
        case nil: break
        case .held(let untilNs): return armWake(untilNs)
        case .credentialFailed(let failure): return parkOne(failure)
        default: return
        }
        var room = room
        var done = 0
        let isOverloaded = limit.wasOverloaded(now: now.monotonicNs)
        if isOverloaded || gate.blockReason != nil {
            // A job whose recipients all fail must not be the only one that tries FCM, and a refused one not the probe.
            func isLast(_ slot: Int) -> Bool { isRefused(slot) || (isOverloaded && batches.held[slot].isOverloaded) }
            let messages = queue.singles.places + queue.fanouts.places
            // The newest batch of a refused job is the probe: those before it were tried already.
            let last = messages.filter { isLast($0.slot) }
            let order = messages.filter { !isLast($0.slot) } + (gate.blockReason == nil ? last : last.reversed())
            _ = send(from: order, &room, &done)
        } else if send(from: queue.singles.places, &room, &done) {
            _ = send(from: queue.fanouts.places, &room, &done)
        }
        // Operations have a rate of their own and need no permits.
        _ = send(from: queue.managed.places, &room, &done)
        guard done > 0 else { return }
        removeDone(done)
        if mayHaveLeftWork { actions.append(.claim) }
    }

    private mutating func removeDone(_ done: Int) {
        var queue = SendQueue()
        swap(&queue, &self.queue)
        queue.removeDone(done) { slot in
            guard unsentCount(slot) == 0 else { return false }
            batches.held[slot].isQueued = false
            if !batches.held[slot].isTaken { mayHaveLeftWork = true }
            return true
        }
        swap(&queue, &self.queue)
    }

    /// Sends of one batch after the other; false when there is no room for more.
    ///
    /// - Parameter done: grows by the batches that have nothing left to send.
    private mutating func send(from places: [SendQueue.Place], _ room: inout Room, _ done: inout Int) -> Bool {
        for slot in places.lazy.map(\.slot) {
            guard maySendWhileBlocked(slot) else { continue }
            if isClosed(slot, now) {
                // Its job's send window has closed: what is unsent goes back until the window opens.
                stop(slot)
                continue
            }
            let hasRoom = sendBatch(slot, &room)
            recount(slot)
            if unsentCount(slot) == 0 {
                done += 1
                if batches.held[slot].pass == .first, !batches.held[slot].hasReportedAllSent, sendJob(slot).isFanout {
                    batches.held[slot].hasReportedAllSent = true
                    writeAllSent(slot)
                }
            }
            guard hasRoom else { return false }
        }
        return true
    }

    /// Whether the send window of the batch's job has closed, by the latest time that Redis may have now.
    private mutating func isClosed(_ slot: Int, _ now: Instant) -> Bool {
        guard let closesMs = batches.held[slot].closesMs else { return false }
        return now.wallMs + now.projectClockErrorMs >= closesMs
    }

    /// Whether a request may still begin that was decided a moment ago. A process may be frozen between any two steps, so
    /// the driver asks right before it hands a request to a transport. A request that may not begin counts as unsent.
    ///
    /// - Parameter now: read for this call.
    public mutating func mayBegin(_ tag: Int, now: Instant) -> Bool {
        guard let request = requests[tag] else { return false }
        return gate.hasFreshNews(now: now.monotonicNs)
            && now.monotonicNs < request.started.monotonicNs.adding(Self.decisionLastsNs)
            && !isClosed(request.slot, now)
    }

    /// How long a decision to send lasts, in nanoseconds: as long as the permits that it spent.
    private static var decisionLastsNs: UInt64 { LeasedPermits.lifetimeNs }

    /// Sends what it can of one batch; false when there is no room for more.
    private mutating func sendBatch(_ slot: Int, _ room: inout Room) -> Bool {
        let job = sendJob(slot)
        if let failure = job.untranslatable {
            failUnsent(slot, failure)
            return true
        }
        guard let adapter = job.adapter else { preconditionFailure("a job without an adapter is untranslatable") }
        let most = adapter.most(job.spec.kind)
        // The watermark has to cover all recipients of a request.
        let window = max(settings.window, most)
        requestWatermark(slot, window: window)
        let isGranted = isGranted(slot)
        while unsentCount(slot) > 0, maySendWhileBlocked(slot) {
            // What waits for a guard needs no permits, and keeps no other batch back.
            if isGranted, batches.held[slot].unsent.leftBelowWatermark == 0 { return true }
            guard let count = recipients(slot, adapter, most, room) else {
                // Too few permits for a multicast may be enough for other batches.
                return adapter.isManagement || (most > 1 && permits.available(now: now.monotonicNs) > 0)
            }
            if batches.hasRounds, let position = batches[roundOf: slot]?.position,
                let member = batches[roundOf: slot]?.next()
            {
                beginRequest(slot, Positions(position), member: member, job, adapter, &room)
            } else {
                chooseCandidates(slot, count, sharing: most > 1)
                guard !candidates.isEmpty else { return true }
                if let sendable = sendable(slot, job) { beginRequest(slot, sendable, job, adapter, &room) }
                if most == 1 { requestWatermark(slot, window: window) }
            }
        }
        return true
    }

    /// Replaces ``candidates`` by the recipients of the next request: of a blocked project by one, at random.
    private mutating func chooseCandidates(_ slot: Int, _ count: Int, sharing isShared: Bool) {
        guard gate.blockReason != nil, !batches.held[slot].source.isManagement else {
            return batches.held[slot].unsent.next(count, sharing: isShared, into: &candidates)
        }
        candidates.removeAll(keepingCapacity: true)
        if let probe = batches.held[slot].unsent.nextAtRandom(random.unit()) { candidates.append(probe) }
    }

    private mutating func requestWatermark(_ slot: Int, window: Int) {
        guard batches.held[slot].state == .sending else { return }
        if sendJob(slot).isGuarded {
            let watermark = batches.held[slot].unsent.watermark
            guard watermark.requested == watermark.confirmed else { return }
        }
        guard now.monotonicNs >= batches.held[slot].nextAskNs else { return armWake(batches.held[slot].nextAskNs) }
        if let watermark = batches.held[slot].unsent.watermarkToRequest(window: window) {
            writeWatermark(watermark, slot)
        }
    }

    private mutating func failUnsent(_ slot: Int, _ failure: Failure) {
        let job = sendJob(slot)
        for position in batches.held[slot].unsent.removeAll() {
            for shared in batches.held[slot].unsent.sharing(position) {
                write(rules.result(.failed, failure, batches.held[slot].recipients[shared], job), shared, slot)
            }
        }
    }

    /// Recipients that the next request may carry; nil when none can begin now.
    private mutating func recipients(_ slot: Int, _ adapter: ProtocolAdapter, _ most: Int, _ room: Room) -> Int? {
        let atOnce = adapter.isManagement ? settings.maximumInFlight : min(limit.limit, settings.maximumInFlight)
        guard requests.count < atOnce, room[adapter.route] > 0 else { return nil }
        if adapter.isManagement {
            let count = min(most, unsentCount(slot))
            switch management.spend(count, ahead: queue.managed.unsent, now: now.monotonicNs) {
            case .go: return count
            case .request(let wanted):
                actions.append(.requestManagement(wanted))
                return nil
            case .wait: return nil
            }
        }
        let count = most > 1 ? requestSize(slot) : 1
        guard permits.available(now: now.monotonicNs) >= count else {
            actions.append(.claimPermits)
            return nil
        }
        guard limit.maySend(now: now.monotonicNs) else {
            armWake(limit.nextAt(now: now.monotonicNs))
            return nil
        }
        return count
    }

    /// The candidates that may be sent to now.
    private mutating func sendable(_ slot: Int, _ job: SendJob) -> Positions? {
        var first: Int?
        var others: [Int] = []
        for index in candidates.indices where maySend(candidates[index], slot, job) {
            if first == nil { first = candidates[index] } else { others.append(candidates[index]) }
        }
        return first.map { Positions($0, others) }
    }

    // MARK: One recipient

    /// Whether a recipient may be sent to now. Otherwise it gets its result, its wait or its rate check.
    private mutating func maySend(_ position: Int, _ slot: Int, _ job: SendJob) -> Bool {
        if let decision = rules.beforeSend(batches.held[slot].recipients[position], situation(slot)) {
            write(decision, position, slot)
            // Equal recipients would have shared the send. Each is judged by its own history: one that may still be sent to
            // goes back.
            for other in batches.held[slot].unsent.sharing(position).dropFirst() {
                let recipient = batches.held[slot].recipients[other]
                write(rules.beforeSend(recipient, situation(slot)) ?? rules.giveBack(recipient), other, slot)
            }
            return false
        }
        if batches.held[slot].unsent.removePassed(position) { return true }
        let repeats = countRepeats(position, slot, job)
        switch rates.decide(rateName(position, slot), repeats: repeats, nowMs: now.projectMs) {
        case .send: return true
        case .wait(let untilMs): waitForRate(position, slot, untilMs: untilMs)
        case .check:
            batches.held[slot].rateChecks += 1
            actions.append(.checkRate(RateCheck(slot: slot, position: position, name: rateName(position, slot))))
        }
        return false
    }

    /// How often this worker was about to send to the recipient in the last minute; 0 for jobs too small to tell.
    private mutating func countRepeats(_ position: Int, _ slot: Int, _ job: SendJob) -> Int {
        guard job.countsRepeats else { return 0 }
        let hash = ByteHash.of(batches.held[slot].recipients[position].name)
        return batches[jobOf: slot].repeats?.count(hash: hash, now: now.monotonicNs) ?? 0
    }

    mutating func rateChecked(_ check: RateCheck, waitMs: Int64) {
        let slot = check.slot
        guard batch(slot) != nil else { return }
        batches.held[slot].rateChecks -= 1
        if waitMs <= 0, batches.held[slot].state == .sending {
            batches.held[slot].unsent.repeatPassed(check.position)
            enqueue(slot)
        } else {
            waitForRate(check.position, slot, untilMs: now.projectMs + max(0, NamedValues.bounded(waitMs)))
        }
        retire(slot)
    }

    // MARK: One request

    private mutating func beginRequest(
        _ slot: Int,
        _ positions: Positions,
        member: String? = nil,
        _ job: SendJob,
        _ adapter: ProtocolAdapter,
        _ room: inout Room
    ) {
        if member == nil, case .members(let progress) = batches.held[slot].recipients[positions[0]].text {
            // Its members go out one by one, as permits come.
            batches[roundOf: slot] = GroupRound(position: positions[0], progress: progress, startedMs: now.projectMs)
            return settleRound(slot)
        }
        let history = batches.held[slot].recipients[positions[0]].history
        messageNonce &+= 1
        let attempt = Attempt(
            job: job.id,
            index: batches.held[slot].recipients[positions[0]].index,
            number: history.attempts,
            nonce: messageNonce,
            credentialProject: credentialProject,
            nowMs: now.wallMs
        )
        let recipients = recipients(slot, positions, member, job)
        let request = adapter.ask { $0.request(recipients, attempt) }
        if !adapter.isManagement {
            // Asked for before, so it cannot fail; the recipients of a multicast count one by one.
            _ = permits.spend(positions.count, now: now.monotonicNs)
            limit.sent(isRetry: history.attempts > 0, now: now.monotonicNs)
        }
        if !batches.held[slot].wasSent, batches.held[slot].pass == .first, job.spec.sinceMs > 0 {
            let waited = SendMeter.waited(
                milliseconds: now.wallMs - job.spec.sinceMs,
                recipients: batches.held[slot].count
            )
            actions.append(.meter(waited))
        }
        batches.held[slot].wasSent = true
        batches.held[slot].inFlight += 1
        room[request.route] -= 1
        let tag = requests.insert(
            InFlightRequest(
                slot: slot,
                positions: positions,
                member: member,
                credential: gate.resources.credentialGeneration,
                fingerprint: gate.resources.credentialFingerprint,
                isProbe: !adapter.isManagement && useProbe(),
                started: now
            )
        )
        actions.append(.send(tag: tag, request))
    }

    /// The recipients that a request names.
    @inline(__always)
    mutating func recipients(_ slot: Int, _ positions: Positions, _ member: String?, _ job: SendJob)
        -> RequestRecipients
    {
        if let member { return RequestRecipients(kind: .token, name: member) }
        var recipients = RequestRecipients(
            kind: job.spec.kind,
            name: batches.held[slot].recipients[positions[0]].name.string
        )
        if case .element(let element) = batches.held[slot].recipients[positions[0]].text {
            (recipients.element, recipients.kind) = (element, element.kind)
        }
        if job.isManagement { recipients.continuation = batches.held[slot].continuations[positions[0]] }
        if positions.count > 1 { recipients.texts = positions.map { batches.held[slot].recipients[$0].name } }
        return recipients
    }

    mutating func armWake(_ time: UInt64) {
        guard !isWakeArmed else { return }
        isWakeArmed = true
        actions.append(.arm(.wake, at: max(time, now.monotonicNs + 1_000_000)))
    }
}
