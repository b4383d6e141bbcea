import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What becomes of recipients is gathered, written and confirmed.
@Suite struct SendMachineRecordingTests {
    private func sending(count: Int, flushCount: Int = 256, results: ResultsPolicy = .all) -> MachineRig {
        var settings = SendMachine.Settings()
        settings.flushCount = flushCount
        var rig = MachineRig(settings)
        rig.hold(.of(count: count), .message(total: count) { $0.results = results })
        rig.send()
        return rig
    }

    // MARK: When it is written

    @Test func resultsWaitForTheFlushTimer() {
        var rig = sending(count: 3)
        rig.answer(.sent())
        #expect(rig.flushes.isEmpty && rig.flushAt == rig.now.monotonicNs + 5_000_000)
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.flushes.map(\.count) == [2] && rig.flushAt == nil)
        rig.flushNow()
        #expect(rig.flushes.count == 1, "nothing is written twice")
    }

    @Test func aFullFlushGoesAtOnce() {
        var rig = sending(count: 5, flushCount: 2)
        for _ in 0..<4 { rig.answer(.sent()) }
        #expect(rig.flushes.map(\.count) == [2, 2])
        #expect(rig.flushes.map(\.call.number) == [1, 2] && rig.flushes.allSatisfy { !$0.call.finish })
    }

    @Test func unsentRecipientsOfAnEndingJobAreWrittenInOneFlushOfTheirBatch() {
        var settings = SendMachine.Settings()
        settings.flushCount = 2
        var rig = MachineRig(settings)
        rig.hold(.of(count: 5) { $0.ending = "cancelled" }, .message(total: 5))
        #expect(rig.flushes.map(\.count) == [5] && rig.flushes.map(\.call.finish) == [true])
    }

    @Test func unsentRecipientsOfAnEndingJobKeepNoSendWaiting() {
        var settings = SendMachine.Settings()
        settings.maximumInFlight = 1
        var rig = MachineRig(settings)
        rig.hold(.of("ending", count: 9) { $0.ending = "cancelled" }, .message(total: 9))
        #expect(rig.machine.gate.uncommitted == 0 && rig.flushes.map(\.count) == [9])
        rig.hold(.of("other"), .message())
        rig.send()
        #expect(rig.requests.count == 1)
    }

    @Test func batchHandledAfterItsReplyEnds() {
        var rig = MachineRig()
        rig.hold(.of(count: 2) { $0.ending = "cancelled" }, .message(total: 5))
        rig.handle(.claimed(.of(batch: "1", count: 3) { $0.ending = "cancelled" }))
        #expect(rig.flushes.map(\.count) == [2, 3] && rig.flushes.allSatisfy(\.call.finish))
    }

    /// Two flushes in flight end the last recipients, so neither may close the batch; the second one ends the job.
    @Test func batchWhoseJobEndedBeforeItsClosingFlushIsClosed() {
        var rig = sending(count: 2, flushCount: 1)
        for _ in 0..<2 { rig.answer(.sent()) }
        #expect(rig.flushes.map(\.count) == [1, 1] && rig.flushes.allSatisfy { !$0.call.finish })
        for _ in 0..<2 { rig.confirm() }
        #expect(rig.flushes.map(\.count) == [0] && rig.flushes.allSatisfy(\.call.finish))
        rig.confirm(0, .gone)
        #expect(rig.outcomes == [.closed])
        rig.expectEmpty()
    }

    @Test func drainingWritesWhatWasGathered() {
        var rig = sending(count: 3)
        rig.answer(.sent())
        rig.handle(.drain)
        #expect(rig.flushes.map(\.count) == [1])
    }

    @Test func aLostLeaseWritesWhatWasGatheredAsTheHolder() {
        var rig = sending(count: 3)
        rig.answer(.sent())
        rig.handle(.leaseLost)
        #expect(rig.flushes.map(\.call.late) == [false])
        // Whether that came in time, Redis decides.
        rig.confirm(0, .stale)
        #expect(rig.flushes.map(\.call.late) == [true] && rig.flushes[0].call.objects.contains("maybe_dup"))
    }

    // MARK: How a batch closes

    /// A flush that overtook another one must not leave that one without its batch.
    @Test func aBatchClosesWhenEverythingBeforeIsConfirmed() {
        var rig = sending(count: 2)
        rig.answer(.sent())
        rig.flushNow()
        rig.answer(.sent())
        #expect(rig.flushes.map(\.call.finish) == [false, false])
        rig.confirm(1)
        #expect(rig.flushes.count == 1)
        rig.confirm()
        #expect(rig.flushes.map(\.call.finish) == [true] && rig.flushes.map(\.count) == [0])
        rig.confirm()
        #expect(rig.outcomes == [.closed])
        rig.expectEmpty()
    }

    @Test func knownBatchesNameFlushAndWatermark() {
        var rig = sending(count: 3)
        rig.answer(.sent())
        rig.flushNow()
        rig.confirm()
        rig.claim(.of("other", epoch: 2))
        #expect(rig.machine.known.map(\.name).sorted() == ["j/0", "other/0"])
        #expect(rig.machine.known.first { $0.name == "j/0" }?.call == 1)
        #expect(rig.machine.known.first { $0.name == "j/0" }?.watermark == 3)
        rig.handle(.forgotten(["j/0"]))
        #expect(rig.machine.known.map(\.name) == ["other/0"], "what is lost is not held")
    }

    // MARK: Late facts

    @Test func lateFactsAreFlaggedAndBringNoDecision() {
        var rig = sending(count: 3, results: .failures)
        rig.handle(.forgotten(["j/0"]))
        rig.answer(.sent())
        rig.answer(.overloaded)
        rig.answer(.dead)
        let calls = rig.flushes.map(\.call)
        #expect(calls.map(\.late) == [true] && calls[0].retries.isEmpty && calls[0].letters == [0: "s", 2: "f"])
        #expect(calls[0].objects.components(of: #""maybe_dup":true"#) == 2 && calls[0].feedback.count == 1)
        rig.confirm()
        #expect(rig.outcomes == [.lost])
        rig.expectEmpty()
    }

    /// No device shows an operation twice.
    @Test func lateResultsOfOperationsAreNotFlagged() {
        var rig = MachineRig()
        rig.hold(.of(), .operation())
        rig.send()
        rig.handle(.managementGranted(1))
        rig.send()
        rig.handle(.forgotten(["j/0"]))
        rig.answer(rig.accepted(rig.requests[0].tag))
        let call = rig.confirm().call
        #expect(call.late && call.letters == [0: "s"] && !call.objects.contains("maybe_dup"))
        #expect(!call.subscribed.isEmpty)
        rig.expectEmpty()
    }

    // MARK: Replay

    private func confirmed(_ rig: inout MachineRig) -> [Flush] {
        var buffer = ReplayBuffer()
        rig.flushNow()
        while !rig.flushes.isEmpty { buffer.append(rig.confirm(), now: 0) }
        return buffer.removeAll()
    }

    @Test func replayedResultsAreWrittenAsFacts() {
        var rig = sending(count: 1)
        rig.answer(.sent())
        for flush in confirmed(&rig) { rig.handle(.replay(flush)) }
        #expect(rig.machine.gate.uncommitted == 1 && rig.flushes.map(\.call.late) == [true])
        #expect(rig.flushes[0].slot == nil && rig.flushes[0].call.objects.contains("maybe_dup"))
        rig.confirm()
        rig.expectEmpty()
    }

    @Test func aBatchWaitsForItsReplayedResults() {
        var rig = sending(count: 2)
        rig.answer(.sent())
        for flush in confirmed(&rig) { rig.handle(.replay(flush)) }
        rig.handle(.forgotten(["j/0"]))
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.flushes.count == 2 && rig.machine.batchCount == 1)
        rig.confirm()
        #expect(rig.machine.batchCount == 1)
        rig.confirm()
        rig.expectEmpty()
    }

    /// After a failover Redis may give the same epoch again, and nothing waits for a batch that is being prepared.
    @Test func aBatchThatIsBeingPreparedDoesNotWaitForReplayedResults() {
        var rig = sending(count: 1)
        rig.answer(.sent())
        let confirmed = confirmed(&rig)
        rig.claim(.of())
        for flush in confirmed { rig.handle(.replay(flush)) }
        rig.handle(.giveUpJob("j"))
        rig.confirm()
        rig.expectEmpty()
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
