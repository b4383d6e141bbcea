import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// A worker that is frozen between any two steps begins nothing after it that a pause or a cancel may forbid.
@Suite struct SendMachineFreezeTests {
    /// A rig with three sends that were decided and not handed to a transport yet.
    private func decided() -> MachineRig {
        var rig = MachineRig()
        rig.hold(.named(["a", "b", "c"], "j"), .message(total: 3))
        rig.send()
        #expect(rig.requests.count == 3)
        return rig
    }

    private func mayBegin(_ rig: MachineRig) -> [Bool] {
        var machine = rig.machine
        return rig.requests.map { machine.mayBegin($0.tag, now: rig.now) }
    }

    @Test func decisionLastsAsLongAsItsPermits() {
        var rig = decided()
        #expect(mayBegin(rig) == [true, true, true])
        rig.advance(milliseconds: 249)
        #expect(mayBegin(rig) == [true, true, true])
        rig.advance(milliseconds: 1)
        #expect(mayBegin(rig) == [false, false, false])
    }

    @Test func decisionOnNewsThatGrewOldIsVoid() {
        var rig = MachineRig()
        rig.hold(.named(["a"], "j"), .message(total: 1))
        rig.advance(milliseconds: 999, hearsNews: false)
        rig.handle(.permitsLent(1, askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(mayBegin(rig) == [true])
        rig.advance(milliseconds: 1, hearsNews: false)
        #expect(mayBegin(rig) == [false])
    }

    @Test func sendsWaitForNewsAndBeginWithThem() {
        var rig = MachineRig()
        rig.hold(.named(["a"], "j"), .message(total: 1))
        rig.advance(milliseconds: 1_000, hearsNews: false)
        rig.handle(.permitsLent(1, askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(rig.requests.isEmpty && rig.wakeAt == nil)
        #expect(rig.machine.gate.reason(for: .sending, now: rig.now.monotonicNs) == .newsStale)
        rig.lend(1)
        rig.send()
        #expect(rig.requests.count == 1)
    }

    /// Replies that lay in the socket since before the freeze were asked for before it.
    @Test func answerToAnEarlierQuestionIsNoFreshNews() {
        var rig = MachineRig()
        rig.hold(.named(["a"], "j"), .message(total: 1))
        let asked = rig.now.monotonicNs
        rig.advance(milliseconds: 2_000, hearsNews: false)
        rig.handle(.claimReplied(.empty(permits: 1), askedNs: asked))
        rig.handle(.permitsLent(1, askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(rig.requests.isEmpty)
    }

    @Test func requestThatDidNotBeginIsSentAgainUncounted() {
        var rig = decided()
        rig.advance(milliseconds: 5_000)
        while !rig.requests.isEmpty { rig.answer(.unsent(reason: "this worker was not running")) }
        rig.lend(3)
        rig.send()
        #expect(rig.requests.count == 3)
        #expect(rig.machine.batch(0)?.recipients.map(\.history.attempts) == [0, 0, 0])
    }

    @Test func requestOfAPausedJobThatDidNotBeginIsGivenBack() {
        var rig = decided()
        rig.advance(milliseconds: 5_000)
        rig = rig.hearing(.stop(job: "j", epoch: .max))
        while !rig.requests.isEmpty { rig.answer(.unsent(reason: "this worker was not running")) }
        rig.lend(3)
        rig.send()
        #expect(rig.requests.isEmpty)
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.retries).count == 3)
        rig.confirmAll()
        rig.expectEmpty()
    }

    /// Redis may be later than the worker knows by as long as its answer took.
    @Test func sendWindowClosesByTheLatestTimeThatRedisMayHave() {
        var rig = MachineRig()
        let closes = rig.now.wallMs + 100
        rig.hold(.named(["a", "b"], "j", watermark: 2) { $0.closesMs = closes }, .message(total: 2))
        rig.room[.fcm] = 1
        rig.send()
        rig.advance(milliseconds: 89)
        rig.now.projectClockErrorMs = 10
        #expect(mayBegin(rig) == [true])
        rig.advance(milliseconds: 1)
        #expect(mayBegin(rig) == [false], "decided inside the window, it would begin outside")
        rig.room[.fcm] = 10
        rig.send()
        #expect(rig.requests.count == 1, "and nothing more is decided")
    }
}
