internal import FanfareModel
internal import StreamWire

/// Answers to claims: batches, permits, holds, and news of operators and other workers.
extension SendMachine {
    /// A hold that is longer than this makes a quarantined batch give way, in milliseconds.
    private static var longHoldMs: Int64 { 2_000 }

    mutating func replied(_ reply: ClaimReply, askedNs: UInt64) {
        gate.newsCame(askedNs: askedNs)
        permits.lent(reply.permits, at: askedNs)
        hold(milliseconds: reply.holdMs)
        logHold()
        updateStops(reply)
        updateBlock(reply, askedNs: askedNs)
        for claim in reply.claims { claimed(claim, reply.specs[claim.job]) }
        suspectWaits(reply.suspect)
        yieldToQuarantine()
        for news in reply.news { handle(news) }
    }

    private mutating func handle(_ news: News) {
        switch news {
        case .stop(let job, let epoch): stop(job, epoch: epoch)
        case .parked(let job, let reason):
            log(.error, "A job is parked; replay or drop its entry in dead.", [("job", job), ("reason", reason)])
        case .end(let job, let status):
            // A status that this version does not know is left to a newer worker.
            if let status = ResultStatus(rawValue: status) { end(job, status) }
        case .refused(let job):
            if gate.blockReason != nil { evidence.refuseJob(job) }
        case .rate(let recipient, let untilMs): rates.refuse(recipient, untilMs: untilMs, nowMs: now.projectMs)
        }
    }

    /// Holds every send of the project.
    mutating func hold(milliseconds: Int64) {
        guard milliseconds > 0 else { return }
        // Permits lent before are not valid after the hold.
        permits = LeasedPermits()
        gate.hold(milliseconds: milliseconds, now: now.monotonicNs)
        logHold()
    }

    private mutating func logHold() {
        switch logLimits.observeHold(until: gate.heldUntil, now: now.monotonicNs) {
        case .begin:
            let heldMs = Int64((gate.heldUntil - now.monotonicNs) / 1_000_000)
            let until = CalendarTime(unixMs: now.wallMs + heldMs).rfc3339
            let reason = logLimits.holdReason(now: now.monotonicNs)
            log(.info, "FCM asked to wait: the project's sends are held.", [("reason", reason), ("until", until)])
        case .end(let heldMs, let endedNs):
            let agoMs = Int64(now.monotonicNs.subtracting(endedNs) / 1_000_000)
            let ended = CalendarTime(unixMs: now.wallMs - agoMs).rfc3339
            log(.info, "FCM's hold of the project is over.", [("ended", ended), ("held_s", "\(heldMs / 1_000)")])
        case nil: break
        }
    }

    private mutating func updateStops(_ reply: ClaimReply) {
        let pause = reply.pauseReason.isEmpty ? nil : reply.pauseReason
        let pressure = reply.pressure.isEmpty ? nil : reply.pressure
        if pause != gate.pauseReason {
            log(.notice, pause == nil ? "The project continues." : "The project is paused by an operator.")
        }
        gate.pauseReason = pause
        gate.pressure = pressure
        // A quarantined batch that cannot send keeps other projects from running theirs, or from sending at all.
        let mustGiveWay =
            pause != nil || pressure != nil || reply.probeMs > 0 || reply.holdMs > Self.longHoldMs
        if quarantine.isHeld, mustGiveWay || quarantine.isOver(now: now.monotonicNs) { stopAll { _ in true } }
    }

    private mutating func updateBlock(_ reply: ClaimReply, askedNs: UInt64) {
        gate.updateDoubt(reply.doubted, askedNs: askedNs)
        if reply.probeMs > 0 {
            logBlock(reply.blockReason)
            if gate.blockReason != reply.blockReason { gate.block(reply.blockReason, now: gate.blockedAt) }
            if reply.isProbe { gate.mayProbe = true }
            if reply.isProbe || reply.claims.contains(where: \.isProbe) { actions.append(.retryCredential) }
        } else if gate.blockReason != nil, askedNs > gate.blockedAt {
            gate.unblock()
            evidence.endBlock()
            actions.append(.retryCredential)
            logUnblock()
        }
    }

    // MARK: Demand

    /// Recipients in multicasts, which begin only with all their permits.
    struct SharedDemand: Equatable {
        /// Recipients of the next multicast; 0 when there is none.
        var next = 0
        /// Whether the next multicast is of a job of one batch.
        var isSmall: Bool { singles > 0 }
        /// Unsent recipients of one-batch jobs that go in multicasts.
        var singles = 0
    }

    /// The demand of a project whose recipients share requests.
    ///
    /// Not of a blocked project, whose probe is one recipient.
    mutating func sharedDemand() -> SharedDemand {
        var demand = SharedDemand()
        for slot in queue.singles.places.lazy.map(\.slot) {
            let size = requestSize(slot)
            guard size > 1 else { continue }
            if demand.next == 0 { demand.next = size }
            demand.singles += unsentCount(slot)
        }
        guard demand.next == 0 else { return demand }
        for place in queue.fanouts.places {
            let size = requestSize(place.slot)
            guard size <= 1 else {
                demand.next = size
                break
            }
        }
        return demand
    }

    /// Recipients of a batch's next request: 1, or for shared requests all that are left, up to a quarter of the
    /// minute's quota; of a job with a rate or a canary the recipients that it allows now, possibly none. 1 for
    /// recipients that were refused.
    @inline(__always)
    mutating func requestSize(_ slot: Int) -> Int {
        let most = sendJob(slot).maximumPerRequest
        // The probe of a blocked project is one recipient. A refused request says nothing of each of its recipients: they
        // are sent one by one, so that no other is judged with the one that FCM refuses.
        guard most > 1, gate.blockReason == nil, !batches.held[slot].hasRefused else { return 1 }
        return min(most, sendableCount(slot), max(1, settings.quotaPerMinute / 4))
    }
}
