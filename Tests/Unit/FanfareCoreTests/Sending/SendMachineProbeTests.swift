import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Which recipient probes a blocked project.
@Suite struct SendMachineProbeTests {
    /// The project is blocked, and FCM has refused these jobs since.
    private func blocked(refused: [String], probe: Bool = false) -> ClaimReply {
        .empty(permits: 100) {
            $0.probeMs = 1_000
            $0.blockReason = "HTTP 403 denied"
            $0.isProbe = probe
            $0.news = refused.map { .refused(job: $0) }
        }
    }

    /// A rig with three recipients of the job `bad` and two of the job `good`, in this order.
    private func rig() -> MachineRig {
        var rig = MachineRig()
        rig.hold(.of("bad", count: 3), .message(total: 3))
        rig.hold(.named(["g0", "g1"], "good"), .message(total: 2))
        return rig
    }

    private func call(_ rig: inout MachineRig) -> ClaimCall? {
        rig.machine.claimCall(worker: "w", plan: ClaimPlan(pollMs: 5, idlePollMs: 50, quietPollMs: 9_000), now: rig.now)
    }

    @Test func probeIsOfAJobThatFCMHasNotRefused() throws {
        var rig = rig()
        rig.handle(.claimReplied(blocked(refused: ["bad"]), askedNs: rig.now.monotonicNs))
        let asked = try #require(call(&rig))
        #expect(asked.held == 5 && asked.others == 2)
        rig.handle(.claimReplied(blocked(refused: [], probe: true), askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(rig.requests.count == 1)
        let slot = try #require(rig.machine.request(rig.requests[0].tag)).slot
        #expect(rig.machine.batch(slot)?.source.job == "good")
    }

    @Test func refusedJobIsProbedWhenThereIsNoOther() throws {
        var rig = rig()
        rig.handle(.claimReplied(blocked(refused: ["bad", "good"]), askedNs: rig.now.monotonicNs))
        #expect(try #require(call(&rig)).others == 0)
        rig.handle(.claimReplied(blocked(refused: [], probe: true), askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(rig.requests.count == 1)
    }

    @Test func oneRecipientOfABatchThatIsTheProbeIsSent() throws {
        var rig = MachineRig()
        rig.handle(.claimReplied(blocked(refused: []), askedNs: rig.now.monotonicNs))
        var reply = blocked(refused: [])
        reply.claims = [.of("new", count: 3) { $0.isProbe = true }]
        rig.handle(.claimReplied(reply, askedNs: rig.now.monotonicNs))
        rig.handle(.specLoaded(job: "new", .message(total: 3)))
        for _ in 0..<2 {
            rig.send()
            #expect(rig.requests.count == 1)
        }
        rig.answer(.unsent)
        rig.send()
        #expect(rig.requests.count == 1, "a probe that never left is sent again")
    }

    @Test func endOfABlockForgetsRefusedJobs() throws {
        var rig = rig()
        rig.handle(.claimReplied(blocked(refused: ["bad"]), askedNs: rig.now.monotonicNs))
        rig.advance(milliseconds: 1)
        rig.handle(.claimReplied(.empty(), askedNs: rig.now.monotonicNs))
        #expect(rig.machine.gate.blockReason == nil && rig.machine.evidence.refusedJobs.isEmpty)
        rig.advance(milliseconds: 1)
        rig.handle(.claimReplied(blocked(refused: []), askedNs: rig.now.monotonicNs))
        #expect(try #require(call(&rig)).others == 5)
    }

    @Test func jobIsHandedOverToABlockedWorkerWithoutAnotherJob() {
        var rig = rig()
        rig.handle(.claimReplied(blocked(refused: ["bad"]), askedNs: rig.now.monotonicNs))
        #expect(rig.machine.reasonNotToTake(now: rig.now) == .blocked("HTTP 403 denied"))
        rig.handle(.claimReplied(blocked(refused: ["good"]), askedNs: rig.now.monotonicNs))
        #expect(rig.machine.reasonNotToTake(now: rig.now) == nil)
    }
}
