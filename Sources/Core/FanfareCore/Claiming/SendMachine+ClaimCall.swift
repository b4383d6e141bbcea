internal import FanfareModel
public import StreamWire

/// Decides for how much work, and for how many permits, a claim asks.
extension SendMachine {
    /// Batches that one claim brings at most.
    private static var maximumBatches: Int { 64 }

    /// Recipients of fan-outs that may still be taken: two rounds of sends, one at hand while the other is in flight.
    private var fanoutRoom: Int { max(0, 2 * settings.maximumInFlight - queue.fanouts.unsent) }
    /// Recipients of other jobs, counted apart: a fan-out that is sent slowly keeps no single recipient out.
    private var singleRoom: Int { max(0, 2 * settings.maximumInFlight - queue.singles.unsent) }
    /// Batches that may still be held, a bound for jobs of one recipient each.
    private var batchRoom: Int { 4 * settings.maximumInFlight - batchCount }

    /// Recipients at hand that need a permit.
    public var unsent: Int { queue.unsent }

    /// Why no job may be handed over to this worker at intake; nil when one may, and there is room for it.
    public func reasonNotToTake(now: Instant) -> SendGate.Reason? {
        let reason = gate.reason(for: .intake, now: now.monotonicNs)
        // A blocked project needs a recipient of another job as its probe.
        if case .blocked = reason, unsentOfOtherJobs == 0 { return nil }
        return reason ?? (singleRoom > 0 && batchRoom > 0 ? nil : .full)
    }

    /// The next claim; nil while nothing may be asked for.
    ///
    /// - Parameter worker: the name that the worker's lease has.
    public mutating func claimCall(worker: String, plan: ClaimPlan, now: Instant) -> ClaimCall? {
        guard !plan.isAsking, gate.reason(for: .claiming, now: now.monotonicNs) == nil else { return nil }
        // A worker with its hands full still takes the probe of a blocked project: all of them may be full.
        let isBlocked = gate.blockReason != nil
        let resources = gate.resources
        let hasRoom =
            (fanoutRoom > 0 || singleRoom > 0) && resources.isQuarantineOpen && !resources.isCredentialStuck
        var most = hasRoom ? max(0, min(Self.maximumBatches, batchRoom)) : 0
        if isBlocked, !resources.isCredentialStuck { most = 1 }
        mayHaveLeftWork = most == 0 || fanoutRoom == 0 || singleRoom == 0
        var call = ClaimCall(
            worker: worker,
            most: most,
            wanted: isBlocked ? Batch.maximumSize : fanoutRoom,
            wantedSingle: isBlocked ? Batch.maximumSize : singleRoom,
            window: settings.window,
            retries: limit.retryRoom(now: now.monotonicNs),
            quotaPerMinute: settings.quotaPerMinute
        )
        // A job ends without sends: neither a full queue nor a missing credential delays it. A death in a quarantine must not
        // count against its batches.
        let mayEnd = resources.isQuarantineOpen && quarantineOfClaim == .none
        call.endings = mayEnd ? max(0, min(ClaimCall.usualEndings, batchRoom)) : 0
        call.wantedManaged = max(0, 2 * Batch.maximumSize - queue.managed.unsent)
        call.newsCursor = plan.newsCursor
        call.refusedCursor = plan.refusedCursor
        call.quarantine = quarantineOfClaim
        call.answers = answers.report(now: now.monotonicNs)
        let lapsed = permits.countLapsed(now: now.monotonicNs)
        call.lapsed = queue.unsent > 0 ? lapsed : 0
        if isBlocked {
            call.held = queue.unsent
            call.others = unsentOfOtherJobs
            // The probe needs a permit.
            call.returned = permits.giveBack(keep: 1, now: now.monotonicNs)
            call.permitsSingle = 1
            if settings.protocols.traits.isMulticast { call.multicast = 0 }
        } else {
            askForPermits(&call, now)
        }
        return call
    }

    private mutating func askForPermits(_ call: inout ClaimCall, _ now: Instant) {
        var shared: SharedDemand?
        if settings.protocols.traits.isMulticast { shared = sharedDemand() }
        let singles = queue.singles.unsent - (shared?.singles ?? 0)
        var available = permits.available(now: now.monotonicNs)
        var keep = queue.unsent
        // Permits for a part of a multicast are useless: they are given back, and all of its permits are asked for.
        if let shared, shared.next > available - singles { keep = singles }
        call.returned = permits.giveBack(keep: keep, now: now.monotonicNs)
        available -= call.returned
        call.permitsSingle = max(0, singles - available)
        available -= min(available, singles)
        call.permitsFanout = max(0, queue.unsent - singles - available)
        call.multicast = shared.map { $0.next > available ? $0.next : 0 }
        call.isMulticastSmall = shared?.isSmall == true && call.multicast != 0
    }
}
