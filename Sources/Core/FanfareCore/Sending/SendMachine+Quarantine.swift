internal import FanfareModel
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
    /// How long other projects wait for a batch that is alone, after its fourth death; twice as long after each further one.
    private static var exclusiveNs: UInt64 { 10_000_000_000 }

    /// Whether quarantined batches may be sent.
    var isQuarantineHeld: Bool { if case .held = quarantine { true } else { false } }

    private var holdsQuarantined: Bool {
        batches.contains { $0.isHeld && $0.isQuarantined && !$0.state.isLost }
    }

    /// What a claim says of the quarantine. A worker that runs a quarantined batch asks for no other: it would be given
    /// one in a quarantine that ends with the first.
    var quarantineOfClaim: ClaimCall.Quarantine {
        switch quarantine {
        case .none, .waiting(.shared): .none
        case .emptying, .waiting(.exclusive): .busy
        case .held(let mode): holdsQuarantined ? .busy : mode == .shared ? .shared : .exclusive
        }
    }

    mutating func quarantineBegan(_ mode: QuarantineMode) {
        guard case .waiting(let wanted) = quarantine else { return }
        quarantine = .held(mode)
        isQuarantineLimited = wanted == .exclusive
        for slot in slots(where: { $0.isQuarantined && $0.state.isPreparing }) { prepare(slot) }
    }

    /// Redis says whether a suspect waits for this worker, and which mode it needs.
    mutating func suspectWaits(_ mode: QuarantineMode?) {
        guard quarantine != .none || mode != nil, !holdsQuarantined else { return }
        // Without a credential it could not be sent, and other projects would wait for it.
        guard let mode, !gate.resources.isCredentialStuck else { return leaveQuarantine() }
        switch quarantine {
        case .waiting(.exclusive), .held(.exclusive): return
        case .waiting(.shared), .held(.shared):
            guard mode == .exclusive else { return }
            leaveQuarantine()
        case .none, .emptying: break
        }
        if mode == .shared || isEmpty { enterQuarantine(mode) } else { quarantine = .emptying }
    }

    /// A batch was claimed that has to run in quarantine.
    mutating func quarantinedClaimed(_ claim: Claim) {
        log(
            .warning,
            "A batch is run in quarantine: its last workers died while they held it.",
            [("job", claim.job), ("batch", claim.batch), ("deaths", "\(claim.crashes)")]
        )
        // An older library gives the batch at once, and parks it if the worker dies.
        guard isQuarantineHeld else { return enterQuarantine(.exclusive) }
        guard isQuarantineLimited else { return }
        quarantineEndsNs = now.monotonicNs + Self.exclusiveNs << min(max(0, claim.crashes - 4), 6)
    }

    private mutating func enterQuarantine(_ mode: QuarantineMode) {
        quarantine = .waiting(mode)
        quarantineEndsNs = .max
        actions.append(.enterQuarantine(mode))
    }

    /// The project keeps its place only for a batch that it holds.
    mutating func leaveQuarantineUnlessRunning() {
        if quarantine != .none, !holdsQuarantined { leaveQuarantine() }
    }

    mutating func leaveQuarantine() {
        if quarantine != .none, quarantine != .emptying { actions.append(.leaveQuarantine) }
        quarantine = .none
        quarantineEndsNs = .max
    }
}
