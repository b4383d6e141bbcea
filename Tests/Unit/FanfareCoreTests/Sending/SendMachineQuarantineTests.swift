import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

/// Quarantined batches: when the machine asks for a quarantine, claims in it, and leaves it.
@Suite struct SendMachineQuarantineTests {
    /// The claim that the rig would make now.
    private func claimCall(_ rig: inout MachineRig) -> ClaimCall? {
        rig.machine.claimCall(worker: "w", plan: ClaimPlan(pollMs: 5, idlePollMs: 50, quietPollMs: 9_000), now: rig.now)
    }

    private func grant(_ rig: inout MachineRig) -> ClaimCall.Quarantine? { claimCall(&rig)?.quarantine }

    /// Redis answers a claim: a suspect waits for this worker, or none.
    private func reply(_ rig: inout MachineRig, suspect: QuarantineMode?, _ claims: Claim...) {
        rig.handle(
            .claimReplied(
                .empty(permits: 1_000, claims: claims) { $0.suspect = suspect },
                askedNs: rig.now.monotonicNs
            )
        )
    }

    /// The rig runs a quarantined batch of one recipient.
    private func running(_ wanted: QuarantineMode, _ granted: QuarantineMode, crashes: Int) -> MachineRig {
        var rig = MachineRig()
        reply(&rig, suspect: wanted)
        rig.handle(.quarantineBegan(granted))
        reply(
            &rig,
            suspect: wanted,
            .of(epoch: 1) {
                $0.isQuarantined = true
                $0.crashes = crashes
            }
        )
        rig.handle(.specLoaded(job: "j", .message()))
        #expect(rig.state(0) == .sending)
        #expect(rig.takeNamed().contains("leaveQuarantine") == false)
        return rig
    }

    @Test func projectClaimsAsAlwaysUntilItsSharedQuarantineBegins() {
        var rig = MachineRig()
        #expect(grant(&rig) == ClaimCall.Quarantine.none)
        reply(&rig, suspect: .shared)
        #expect(rig.takeNamed() == ["enterQuarantine shared"] && grant(&rig) == ClaimCall.Quarantine.none)
        rig.hold(.of(epoch: 1), .message())
        #expect(rig.state(0) == .sending, "another batch is sent meanwhile")
        reply(&rig, suspect: .shared)
        rig.handle(.quarantineBegan(.shared))
        #expect(grant(&rig) == .shared)
    }

    @Test func grantOfTheProcessIsWhatTheClaimSays() {
        var rig = MachineRig()
        reply(&rig, suspect: .shared)
        #expect(claimCall(&rig)?.endings == 8)
        rig.handle(.quarantineBegan(.exclusive))
        #expect(grant(&rig) == .exclusive, "the process has no other project")
        #expect(claimCall(&rig)?.endings == 0, "its death would count against batches that only end")
    }

    /// Other projects wait for an exclusive quarantine, and must not wait for this project's other batches.
    @Test func exclusiveQuarantineIsAskedForWithEmptyHands() {
        var rig = MachineRig()
        rig.hold(.of(epoch: 1), .message())
        rig.send()
        _ = rig.takeNamed()
        reply(&rig, suspect: .exclusive)
        #expect(rig.takeNamed().isEmpty && grant(&rig) == .busy)
        rig.answer(.sent())
        rig.confirmAll()
        reply(&rig, suspect: .exclusive)
        #expect(rig.takeNamed().contains("enterQuarantine exclusive") && grant(&rig) == .busy)
        rig.handle(.quarantineBegan(.exclusive))
        #expect(grant(&rig) == .exclusive)
    }

    @Test func runningBatchIsTheOnlyOne() {
        var rig = running(.shared, .shared, crashes: 3)
        #expect(grant(&rig) == .busy)
        rig.send()
        rig.answer(.sent())
        rig.confirmAll()
        #expect(rig.takeNamed().contains("leaveQuarantine") && grant(&rig) == ClaimCall.Quarantine.none)
        rig.expectEmpty()
    }

    @Test func suspectThatIsGoneEndsTheQuarantine() {
        for isHeld in [false, true] {
            var rig = MachineRig()
            reply(&rig, suspect: .shared)
            if isHeld { rig.handle(.quarantineBegan(.shared)) }
            reply(&rig, suspect: nil)
            #expect(rig.takeNamed() == ["enterQuarantine shared", "leaveQuarantine"])
        }
    }

    @Test func suspectThatDiedBesideOthersNeedsANewQuarantine() {
        var rig = MachineRig()
        reply(&rig, suspect: .shared)
        rig.handle(.quarantineBegan(.shared))
        reply(&rig, suspect: .exclusive)
        #expect(rig.takeNamed() == ["enterQuarantine shared", "leaveQuarantine", "enterQuarantine exclusive"])
    }

    @Test(arguments: ["redis", "drain", "credential"]) func projectThatCannotClaimKeepsNoPlace(cause: String) {
        var rig = MachineRig()
        reply(&rig, suspect: .exclusive)
        rig.handle(.quarantineBegan(.exclusive))
        switch cause {
        case "redis": rig.handle(.redisLost)
        case "drain": rig.handle(.drain)
        default:
            rig.machine.gate.resources.isCredentialStuck = true
            reply(&rig, suspect: .exclusive)
        }
        #expect(rig.takeNamed() == ["enterQuarantine exclusive", "leaveQuarantine"])
    }

    /// Ten seconds after the fourth death, twenty after the fifth.
    @Test(arguments: [(4, Int64(10_000)), (5, 20_000), (6, 40_000), (99, 640_000)])
    func batchThatOthersWaitForGivesWay(crashes: Int, limitMs: Int64) {
        var rig = running(.exclusive, .exclusive, crashes: crashes)
        rig.advance(milliseconds: limitMs - 1)
        reply(&rig, suspect: nil)
        #expect(rig.state(0) == .sending)
        rig.advance(milliseconds: 1)
        reply(&rig, suspect: nil)
        #expect(rig.writeAll().written == "0r", "what was not sent goes back")
        #expect(rig.takeNamed().contains("leaveQuarantine"))
        rig.expectEmpty()
    }

    @Test(arguments: [QuarantineMode.shared, .exclusive]) func batchThatNoOtherWaitsForHasTime(
        _ granted: QuarantineMode
    ) {
        var rig = running(.shared, granted, crashes: 3)
        rig.advance(milliseconds: 3_600_000)
        reply(&rig, suspect: nil)
        #expect(rig.state(0) == .sending)
    }

    /// An older library gives the batch before the process is quiet.
    @Test func quarantinedBatchOfAnOlderLibraryWaitsUntilItIsAlone() {
        var rig = MachineRig()
        rig.hold(.of(epoch: 1) { $0.isQuarantined = true }, .message())
        #expect(
            rig.takeNamed().prefix(2) == ["enterQuarantine exclusive", "loadSpec j"]
                && rig.state(0) == .preparing(ending: nil)
        )
        rig.handle(.quarantineBegan(.exclusive))
        #expect(rig.state(0) == .sending)
        rig.send()
        rig.answer(.sent())
        #expect(!rig.takeNamed().contains("leaveQuarantine"))
        rig.confirmAll()
        #expect(rig.takeNamed().contains("leaveQuarantine"))
        rig.expectEmpty()
    }

    /// It keeps other projects from running theirs, or from sending at all.
    @Test(arguments: ["pause", "pressure", "hold"])
    func quarantinedBatchThatCannotSendIsGivenBack(cause: String) {
        var rig = MachineRig()
        rig.hold(.of { $0.isQuarantined = true }, .message())
        rig.handle(.quarantineBegan(.exclusive))
        rig.handle(
            .claimReplied(
                .empty {
                    if cause == "pause" { $0.pauseReason = "why" }
                    if cause == "pressure" { $0.pressure = "memory" }
                    if cause == "hold" { $0.holdMs = 2_001 }
                },
                askedNs: 0
            )
        )
        #expect(rig.writeAll().written == "0r")
        #expect(rig.takeNamed().contains("leaveQuarantine"))
        rig.expectEmpty()
    }

    @Test func aShortHoldDoesNotEndAQuarantine() {
        var rig = MachineRig()
        rig.hold(.of { $0.isQuarantined = true }, .message())
        rig.handle(.quarantineBegan(.exclusive))
        rig.handle(.claimReplied(.empty { $0.holdMs = 2_000 }, askedNs: 0))
        #expect(rig.state(0) == .sending)
    }

    /// A batch that a guard delays: Redis answers each request for a higher watermark with the present one.
    private func delay(_ rig: inout MachineRig, suspect: QuarantineMode?, milliseconds: Int64) {
        rig.send()
        var guarded = GuardedReply()
        (guarded.watermark, guarded.waitMs) = (0, 250)
        if let ask = rig.flushes.firstIndex(where: { $0.call.watermark != nil }) {
            rig.confirm(ask, .ok(guarded: guarded))
        }
        rig.advance(milliseconds: milliseconds)
        reply(&rig, suspect: suspect)
    }

    /// Its canary may wait for the suspect, which waits for empty hands.
    @Test(arguments: [QuarantineMode.shared, .exclusive])
    func batchThatAGuardDelaysYieldsToASuspect(mode: QuarantineMode) {
        var rig = MachineRig()
        rig.hold(.named(["a"], "j", watermark: 0), .message(total: 10_000))
        reply(&rig, suspect: mode)
        if mode == .shared { rig.handle(.quarantineBegan(.shared)) }
        delay(&rig, suspect: mode, milliseconds: 1_999)
        #expect(rig.state(0) == .sending)
        delay(&rig, suspect: mode, milliseconds: 1)
        _ = rig.writeAll()
        rig.expectEmpty()
        reply(&rig, suspect: mode)
        rig.handle(.quarantineBegan(mode))
        #expect(grant(&rig) == (mode == .shared ? .shared : .exclusive), "its hands are empty")
    }

    /// Its guard may wait for another batch, which this worker is not given in a quarantine.
    @Test func quarantinedBatchThatAGuardDelaysYields() {
        var rig = MachineRig()
        reply(&rig, suspect: .shared)
        rig.handle(.quarantineBegan(.shared))
        var claim = Claim.named(["a"], "j", watermark: 0)
        claim.isQuarantined = true
        rig.hold(claim, .message(total: 10_000))
        delay(&rig, suspect: nil, milliseconds: 1_999)
        #expect(rig.state(0) == .sending)
        delay(&rig, suspect: nil, milliseconds: 1)
        _ = rig.writeAll()
        rig.expectEmpty()
        #expect(rig.takeNamed().contains("leaveQuarantine"))
        reply(&rig, suspect: .shared)
        #expect(grant(&rig) == ClaimCall.Quarantine.none, "other batches are claimed meanwhile")
        rig.advance(milliseconds: 2_000)
        reply(&rig, suspect: .shared)
        #expect(rig.takeNamed() == ["enterQuarantine shared"])
    }

    @Test func aLostLeaseEndsAQuarantine() {
        var rig = MachineRig()
        rig.claim(.of { $0.isQuarantined = true })
        rig.handle(.leaseLost)
        #expect(rig.takeNamed().contains("leaveQuarantine"))
        rig.handle(.quarantineBegan(.exclusive))
        rig.expectEmpty()
    }
}
