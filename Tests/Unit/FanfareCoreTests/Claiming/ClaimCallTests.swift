import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// For how much work, and for how many permits, a claim asks.
@Suite struct ClaimCallTests {
    private static let plan = ClaimPlan(pollMs: 20, idlePollMs: 500, quietPollMs: 9_000)

    private func rig(maximumInFlight: Int = 10, _ change: (inout SendMachine.Settings) -> Void = { _ in }) -> MachineRig
    {
        var settings = SendMachine.Settings()
        settings.maximumInFlight = maximumInFlight
        change(&settings)
        return MachineRig(settings)
    }

    private func next(_ rig: inout MachineRig, plan: ClaimPlan = plan) -> ClaimCall? {
        rig.machine.claimCall(worker: "w", plan: plan, now: rig.now)
    }

    private func ask(_ rig: inout MachineRig) throws -> ClaimCall {
        let call = next(&rig)
        return try #require(call)
    }

    /// A batch is at hand, without any permit.
    private func claim(_ rig: inout MachineRig, _ job: String, count: Int, _ spec: JobSpec) {
        rig.claim(.of(job, count: count))
        rig.handle(.specLoaded(job: job, spec))
    }

    @Test func idleWorkerClaimsUpToItsRoom() throws {
        var rig = rig()
        let call = try ask(&rig)
        #expect(call.most == 40 && call.wanted == 20 && call.wantedSingle == 20)
        #expect(call.wantedManaged == 2_000 && call.multicast == nil)
        #expect(call.permitsSingle == 0 && call.permitsFanout == 0)
        #expect(call.window == 128 && call.retries == 100)
    }

    @Test func oneClaimBringsNoMoreThan64Batches() throws {
        var rig = rig(maximumInFlight: 1_000)
        #expect(try ask(&rig).most == 64)
    }

    /// A fan-out that is sent slowly keeps no single recipient out.
    @Test func singlesAndFanoutsAreCountedApart() throws {
        var rig = rig()
        claim(&rig, "fanout", count: 25, .message(total: 2_000))
        claim(&rig, "single", count: 3, .message(total: 3))
        claim(&rig, "operation", count: 4, .operation(total: 4))
        let call = try ask(&rig)
        #expect(call.wanted == 0 && call.wantedSingle == 17 && call.wantedManaged == 1_996 && call.most > 0)
        #expect(call.permitsSingle == 3 && call.permitsFanout == 25)
    }

    /// A claim costs Redis more than such a job.
    @Test(arguments: [1, 2]) func jobGivenByIntakeLeavesNothingToClaim(recipients count: Int) throws {
        var rig = rig(maximumInFlight: 4)
        func sendOne(_ rig: inout MachineRig) -> [String] {
            _ = rig.takeNamed()
            rig.handle(.permitsLent(count, askedNs: rig.now.monotonicNs))
            var claim = Claim.of(count: count)
            let spec = JobSpec.message(total: count)
            if count == 1 { claim.compact = CompactJob(id: "j", entryID: "", spec: spec, keepMs: 1, held: "1 1") }
            rig.handle(.batchTaken(claim, SendJob(id: "j", spec: spec, settings: .init())))
            let before = rig.requests.count
            rig.send()
            #expect(rig.requests.count == before + count)
            return rig.takeNamed().filter { $0 == "claim" }
        }
        _ = try ask(&rig)
        #expect(sendOne(&rig).isEmpty)
        claim(&rig, "fanout", count: 8, .message(total: 2_000))
        #expect(try ask(&rig).wanted == 0)
        #expect(sendOne(&rig) == ["claim"], "the last claim had no room for fan-outs")
    }

    @Test func fullWorkerClaimsNoBatch() throws {
        var rig = rig()
        claim(&rig, "fanout", count: 20, .message(total: 2_000))
        claim(&rig, "single", count: 20, .message(total: 20))
        #expect(try ask(&rig).most == 0)
        #expect(rig.machine.reasonNotToTake(now: rig.now) == .full)
    }

    @Test func claimRequestsOnlyMissingPermits() throws {
        var rig = rig()
        claim(&rig, "fanout", count: 5, .message(total: 2_000))
        claim(&rig, "single", count: 3, .message(total: 3))
        rig.lend(4)
        let call = try ask(&rig)
        #expect(call.permitsSingle == 0 && call.permitsFanout == 4 && call.returned == 0)
    }

    @Test func permitsThatLapseWhileRecipientsWaitAreReportedOnce() throws {
        var rig = rig()
        claim(&rig, "fanout", count: 5, .message(total: 2_000))
        // The worker is paused by its own limits: nothing is sent.
        rig.lend(4)
        rig.advance(milliseconds: 300)
        #expect(try ask(&rig).lapsed == 4)
        #expect(try ask(&rig).lapsed == 0)
    }

    @Test func permitsThatLapseWithoutRecipientsAreNotReported() throws {
        var rig = rig()
        rig.lend(4)
        rig.advance(milliseconds: 300)
        #expect(try ask(&rig).lapsed == 0)
    }

    @Test func permitsThatAreNotNeededAreGivenBack() throws {
        var rig = rig()
        claim(&rig, "single", count: 1, .message())
        rig.lend(5)
        #expect(try ask(&rig).returned == 4)
    }

    /// All workers may be full; one of them has to take the probe.
    @Test func blockedProjectClaimsItsProbe() throws {
        var rig = rig()
        claim(&rig, "single", count: 25, .message(total: 25))
        claim(&rig, "fanout", count: 25, .message(total: 2_000))
        rig.machine.gate.block("why", now: 0)
        let call = try ask(&rig)
        #expect(call.most == 1 && call.permitsSingle == 1 && call.held == 50)
        #expect(rig.machine.reasonNotToTake(now: rig.now) == .blocked("why"))
    }

    /// A job that waits in the stream may bring the recipient that proves the project.
    @Test func blockedWorkerWithoutARecipientTakesAJob() throws {
        var rig = rig()
        rig.machine.gate.block("why", now: 0)
        #expect(try ask(&rig).held == 0)
        #expect(rig.machine.reasonNotToTake(now: rig.now) == nil)
        rig.machine.gate.unblock()
        #expect(try ask(&rig).held == nil)
    }

    @Test func workerWithoutACredentialClaimsNothing() throws {
        var rig = rig()
        rig.machine.gate.resources.isCredentialStuck = true
        #expect(try ask(&rig).most == 0)
        rig.machine.gate.block("why", now: 0)
        #expect(try ask(&rig).most == 0)
    }

    @Test func workerClaimsNothingDuringAnothersQuarantine() throws {
        var rig = rig()
        rig.machine.gate.resources.isQuarantineOpen = false
        let call = try ask(&rig)
        #expect(call.most == 0 && call.endings == 0)
    }

    /// Nothing of an ending job is sent.
    @Test func batchesOfEndingJobsNeedNeitherRoomNorACredential() throws {
        var rig = rig()
        claim(&rig, "fanout", count: 20, .message(total: 2_000))
        claim(&rig, "single", count: 20, .message(total: 20))
        let full = try ask(&rig)
        #expect(full.most == 0 && full.endings == 8)
        rig.machine.gate.resources.isCredentialStuck = true
        rig.machine.gate.block("why", now: 0)
        let blocked = try ask(&rig)
        #expect(blocked.most == 0 && blocked.endings == 8)
    }

    @Test func workerThatHoldsAllItsBatchesClaimsNoEndingJob() throws {
        var rig = rig(maximumInFlight: 1)
        for job in ["a", "b", "c"] { claim(&rig, job, count: 1, .message()) }
        #expect(try ask(&rig).endings == 1)
        claim(&rig, "d", count: 1, .message())
        #expect(try ask(&rig).endings == 0)
    }

    @Test func noClaimWhileOneIsInFlightOrTheGateIsClosed() throws {
        var rig = rig()
        var asking = Self.plan
        asking.sent(try ask(&rig))
        #expect(next(&rig, plan: asking) == nil)
        rig.machine.gate.isDraining = true
        #expect(next(&rig) == nil)
    }

    @Test func answersAreReportedUntilTheyAreConfirmed() throws {
        var rig = rig()
        rig.hold(.of(), .message())
        rig.send()
        rig.answer(.status(503, retryAfter: "7"))
        for _ in 0..<2 {
            let report = try #require(try ask(&rig).answers)
            #expect(report.answers == 1 && report.refused == 1 && report.failing == 1 && report.retryAfterMs == 7_000)
        }
        rig.machine.answers.confirm()
        #expect(try ask(&rig).answers?.answers == 0)
    }

    // MARK: Multicasts

    @Test func claimRequestsAllPermitsOfAMulticast() throws {
        var rig = rig { $0.protocols.transport = .legacy }
        claim(&rig, "fanout", count: 7, .message(total: 2_000))
        rig.lend(3)
        let call = try ask(&rig)
        #expect(call.multicast == 7 && call.permitsFanout == 7, "permits for a part of it are useless")
        #expect(call.returned == 3 && call.permitsSingle == 0 && !call.isMulticastSmall)
    }

    @Test func claimRequestsNoPermitsForACoveredMulticast() throws {
        var rig = rig { $0.protocols.transport = .legacy }
        claim(&rig, "fanout", count: 7, .message(total: 2_000))
        rig.lend(7)
        let call = try ask(&rig)
        #expect(call.multicast == 0 && call.returned == 0 && call.permitsFanout == 0)
    }

    /// The singles' share is never lent, so a single job's multicast has a debt, which waits for no fan-out's.
    @Test func aSingleJobsMulticastIsNoSingle() throws {
        var rig = rig { $0.protocols.transport = .legacy }
        claim(&rig, "single", count: 4, .message(total: 4))
        claim(&rig, "one", count: 1, .message())
        let call = try ask(&rig)
        #expect(call.permitsSingle == 1 && call.permitsFanout == 4 && call.multicast == 4 && call.isMulticastSmall)
        rig.machine.gate.block("why", now: 0)
        #expect(try ask(&rig).permitsSingle == 1, "the probe of a blocked project is one recipient")
    }
}
