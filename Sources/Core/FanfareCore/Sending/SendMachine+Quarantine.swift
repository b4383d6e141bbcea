internal import StreamWire

/// Quarantined batches: the project runs one at a time and nothing else beside it, when ``QuarantineGate`` lets it.
///
/// ```
///       suspect that needs an exclusive quarantine, and other batches are held
/// none ──────────────────────────────────► emptying
///   │                                         │ holds no batch
///   └─── suspect ───────► waiting ◄───────────┘
///                            │ began
///                            ▼
///                          held: claims the suspect, and runs it
/// ```
/// Every state ends with the last quarantined batch, or when Redis says that no suspect waits for this worker.
extension SendMachine {
    private var holdsQuarantined: Bool { batches.all.contains { $0.isQuarantined && !$0.state.isLost } }

    /// What a claim says of the quarantine. A worker that runs a quarantined batch asks for no other: it would be given
    /// one in a quarantine that ends with the first.
    var quarantineOfClaim: ClaimCall.Quarantine {
        switch quarantine.state {
        case .none, .waiting(.shared): .none
        case .emptying, .waiting(.exclusive): .busy
        case .held(let mode): holdsQuarantined ? .busy : mode == .shared ? .shared : .exclusive
        }
    }

    mutating func quarantineBegan(_ mode: QuarantineMode) {
        guard quarantine.begin(mode) else { return }
        for slot in batches.slots(where: { $0.isQuarantined && $0.state.isPreparing }) { prepare(slot) }
    }

    /// Redis says whether a suspect waits for this worker, and which mode it needs.
    mutating func suspectWaits(_ mode: QuarantineMode?) {
        guard quarantine.state != .none || mode != nil, !holdsQuarantined else { return }
        // Without a credential it could not be sent, and other projects would wait for it.
        guard let mode, !gate.resources.isCredentialStuck, quarantine.mayBegin(now: now.monotonicNs) else {
            return leaveQuarantine()
        }
        switch quarantine.state {
        case .waiting(.exclusive), .held(.exclusive): return
        case .waiting(.shared), .held(.shared):
            guard mode == .exclusive else { return }
            leaveQuarantine()
        case .none, .emptying: break
        }
        if mode == .shared || isEmpty { enterQuarantine(mode) } else { quarantine.empty() }
    }

    /// A batch was claimed that has to run in quarantine.
    mutating func quarantinedClaimed(_ claim: Claim) {
        log(
            .warning,
            "A batch is run in quarantine: its last workers died while they held it.",
            [("job", claim.job), ("batch", claim.batch), ("deaths", "\(claim.crashes)")]
        )
        // An older library gives the batch at once, and parks it if the worker dies.
        guard quarantine.isHeld else { return enterQuarantine(.exclusive) }
        quarantine.limit(crashes: claim.crashes, now: now.monotonicNs)
    }

    /// Gives back batches that a guard of their job delays while the quarantine waits for them. A canary or a rate may wait
    /// for recipients of the suspect, and the suspect for a canary in another batch: neither would ever end.
    mutating func yieldToQuarantine() {
        switch quarantine.state {
        case .none, .waiting: return
        case .emptying, .held: break
        }
        let latest = now.monotonicNs.subtracting(ProjectQuarantine.yieldNs)
        for slot in batches.slots(where: { $0.state == .sending && $0.guardedSinceNs <= latest }) {
            if batches.held[slot].isQuarantined { quarantine.yield() }
            stop(slot)
        }
    }

    private mutating func enterQuarantine(_ mode: QuarantineMode) {
        quarantine.wait(for: mode)
        actions.append(.enterQuarantine(mode))
    }

    /// The project keeps its place only for a batch that it holds.
    mutating func leaveQuarantineUnlessRunning() {
        if quarantine.state != .none, !holdsQuarantined { leaveQuarantine() }
    }

    mutating func leaveQuarantine() {
        if quarantine.leave(now: now.monotonicNs) { actions.append(.leaveQuarantine) }
    }
}
