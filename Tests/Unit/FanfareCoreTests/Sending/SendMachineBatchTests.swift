import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What each event makes of a batch in each state: what is written, what goes back, and how the batch is let go.
///
/// The batch has four recipients and a watermark of 2. Where it was sending, the first is in flight, the second may be
/// sent, and the others lie above the watermark.
@Suite struct SendMachineBatchTests {
    enum Start: CaseIterable { case preparing, preparingEnded, sending, stopping, ending, lost }
    enum Event: CaseIterable { case stop, end, drain, giveUp, forgotten, leaseLost }

    struct Row: CustomTestStringConvertible, Sendable {
        var start: Start
        var event: Event
        /// What the batch's holder writes from the event on, by index: see ``RecordCall/fates``.
        var written: String
        /// What is written as facts.
        var late: String
        /// How it is given back: with its watermark, `-` for none; empty if it is not.
        var release: String
        var outcome: BatchOutcome?

        init(
            _ start: Start,
            _ event: Event,
            _ written: String,
            late: String = "",
            release: String = "",
            _ out: BatchOutcome?
        ) {
            (self.start, self.event, self.written, self.late) = (start, event, written, late)
            (self.release, outcome) = (release, out)
        }

        var testDescription: String { "\(start), \(event)" }
    }

    static let rows = [
        // Nothing of it was sent, so it goes back as it came.
        Row(.preparing, .stop, "", release: "0", nil),
        Row(.preparing, .end, "0x 1x 2x 3x", .closed),
        Row(.preparing, .drain, "", release: "0", nil),
        Row(.preparing, .giveUp, "", release: "0", nil),
        Row(.preparing, .forgotten, "", nil),
        Row(.preparing, .leaseLost, "", nil),

        Row(.preparingEnded, .stop, "", release: "0", nil),
        Row(.preparingEnded, .end, "0x 1x 2x 3x", .closed),
        Row(.preparingEnded, .drain, "", release: "0", nil),
        // Its recipients need no send, so this worker can as well end them.
        Row(.preparingEnded, .giveUp, "0c 1c 2c 3c", .closed),
        Row(.preparingEnded, .forgotten, "", nil),
        Row(.preparingEnded, .leaseLost, "", nil),

        // What lies above the watermark goes back with the batch, unwritten.
        Row(.sending, .stop, "0s 1r", release: "-", .returned),
        Row(.sending, .end, "0s 1x 2x 3x", .closed),
        Row(.sending, .drain, "0s 1r", release: "-", .returned),
        Row(.sending, .giveUp, "0s 1r", release: "-", .returned),
        Row(.sending, .forgotten, "", late: "0s", .lost),
        Row(.sending, .leaseLost, "", late: "0s", .lost),

        Row(.stopping, .stop, "0s", release: "-", .returned),
        Row(.stopping, .end, "0s 2x 3x", .closed),
        Row(.stopping, .drain, "0s", release: "-", .returned),
        Row(.stopping, .giveUp, "0s", release: "-", .returned),
        Row(.stopping, .forgotten, "", late: "0s", .lost),
        Row(.stopping, .leaseLost, "", late: "0s", .lost),

        Row(.ending, .stop, "0s", .closed),
        Row(.ending, .end, "0s", .closed),
        Row(.ending, .drain, "0s", .closed),
        Row(.ending, .giveUp, "0s", .closed),
        Row(.ending, .forgotten, "", late: "0s", .lost),
        Row(.ending, .leaseLost, "", late: "0s", .lost),

        Row(.lost, .stop, "", late: "0s", .lost),
        Row(.lost, .end, "", late: "0s", .lost),
        Row(.lost, .drain, "", late: "0s", .lost),
        Row(.lost, .giveUp, "", late: "0s", .lost),
        Row(.lost, .forgotten, "", late: "0s", .lost),
        Row(.lost, .leaseLost, "", late: "0s", .lost),
    ]

    @Test func everyPairHasOneRow() {
        for start in Start.allCases {
            for event in Event.allCases {
                #expect(Self.rows.count { $0.start == start && $0.event == event } == 1, "\(start), \(event)")
            }
        }
    }

    @Test(arguments: rows)
    func anEventLeadsToItsOutcome(row: Row) {
        var rig = rig(row.start)
        let flights = rig.requests.count
        happen(row.event, &rig)
        if rig.machine.batches.slots(where: { $0.state.isPreparing }).count > 0 {
            rig.handle(.specLoaded(job: "j", .message()))
        }
        rig.lend(100)
        rig.send()
        #expect(rig.requests.count == flights, "nothing more is sent")
        while !rig.requests.isEmpty { rig.answer(.sent()) }
        let (written, late) = rig.writeAll()
        #expect(written == row.written && late == row.late)
        let releases = rig.releases.map { $0.watermark.map(String.init) ?? "-" }
        #expect(releases == (row.release.isEmpty ? [] : [row.release]))
        #expect(rig.outcomes == (row.outcome.map { [$0] } ?? []))
        rig.expectEmpty()
    }

    private func rig(_ start: Start) -> MachineRig {
        var settings = SendMachine.Settings()
        settings.window = 2
        var rig = MachineRig(settings)
        rig.claim(.of(count: 4, watermark: 2), permits: 100)
        switch start {
        case .preparing: return rig
        case .preparingEnded: return rig.hearing(.end(job: "j", status: "cancelled"))
        case .sending, .stopping, .ending, .lost: break
        }
        rig.handle(.specLoaded(job: "j", .message()))
        rig.room[.fcm] = 1
        rig.send()
        #expect(rig.positions == [[0]] && rig.state(0) == .sending)
        rig.room[.fcm] = 100
        switch start {
        case .stopping: rig = rig.hearing(.stop(job: "j", epoch: 1))
        case .ending: rig = rig.hearing(.end(job: "j", status: "cancelled"))
        case .lost: rig.handle(.forgotten(["j/0"]))
        case .sending, .preparing, .preparingEnded: break
        }
        _ = rig.writeAll()
        return rig
    }

    private func happen(_ event: Event, _ rig: inout MachineRig) {
        switch event {
        case .stop: rig = rig.hearing(.stop(job: "j", epoch: 1))
        case .end: rig = rig.hearing(.end(job: "j", status: "expired"))
        case .drain: rig.handle(.drain)
        case .giveUp: rig.handle(.giveUp)
        case .forgotten: rig.handle(.forgotten(["j/0"]))
        case .leaseLost: rig.handle(.leaseLost)
        }
    }

    // MARK: Redis says that the batch is another worker's

    @Test(arguments: [RecordReply.stale, .gone])
    func aRefusedFlushLosesTheBatch(reply: RecordReply) throws {
        var rig = rig(.sending)
        rig.send()
        #expect(rig.positions == [[0], [1]])
        #expect(rig.confirm().call.watermark == 4)
        rig.answer(.sent())
        rig.flushNow()
        let refused = rig.confirm(0, reply)
        #expect(!refused.call.late && refused.call.letters == [0: "s"])
        #expect(rig.state(0) == .lost(.taken))
        rig.answer(.sent())
        rig.flushNow()
        let late = rig.flushes.map(\.call)
        #expect(late.allSatisfy(\.late) && late.allSatisfy { $0.retries.isEmpty && !$0.finish })
        let facts = late.reduce(into: [Int: String]()) { $0.merge($1.letters) { $1 } }
        // What Redis refused is written again as facts; a job that is over wants none.
        #expect(facts == (reply == .stale ? [0: "s", 1: "s"] : [1: "s"]))
        #expect(late.allSatisfy { $0.objects.contains(#""maybe_dup":true"#) })
        rig.confirmAll()
        #expect(rig.outcomes == [.lost])
        rig.expectEmpty()
    }

    /// Redis may have closed the batch, and come back with an older state that another worker then continued.
    @Test func aClosingFlushThatIsConfirmedLateClosesALostBatch() {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        rig.send()
        rig.answer(.sent())
        rig.handle(.forgotten(["j/0"]))
        #expect(rig.state(0) == .lost(.forgotten) && rig.flushes.map(\.call.finish) == [true])
        rig.confirm()
        #expect(rig.outcomes == [.closed])
        rig.expectEmpty()
    }

    /// A retry batch is gone with its last flush: that Redis does not name it says nothing.
    @Test(arguments: [Claim.Pass.first, .retry])
    func aRetryThatMayBeClosedIsNotCalledForgotten(pass: Claim.Pass) {
        var rig = MachineRig()
        rig.hold(.of(count: 2) { $0.pass = pass }, .message(total: 2))
        rig.send()
        rig.answer(.sent())
        #expect(rig.machine.batches.held[0].mayBeClosed == false, "one is still open")
        rig.answer(.sent())
        #expect(rig.machine.batches.held[0].mayBeClosed == (pass == .retry))
        rig.handle(.forgotten(["j/0"]))
        #expect(rig.logs.contains { $0.contains("older state") } == (pass == .first))
    }

    // MARK: Which batches an event concerns

    @Test func aStopSparesWhatWasClaimedLater() {
        var rig = MachineRig()
        rig.hold(.of(epoch: 4), .message())
        rig.claim(.of(epoch: 9), .of("other"))
        rig = rig.hearing(.stop(job: "j", epoch: 4))
        // After a resume the same batch is held twice.
        #expect(rig.releases == [.init(batch: "j/0", epoch: "4", watermark: nil)] || rig.state(0) == .stopping)
        #expect(
            rig.machine.batches.slots { $0.state == .sending }.map { rig.machine.batches.held[$0].source.epoch } == [
                "9"
            ]
        )
        #expect(
            rig.machine.batches.slots { $0.state.isPreparing }.map { rig.machine.batches.held[$0].name } == ["other/0"]
        )
    }

    @Test func newsOfAnUnknownJobOrStatusAreIgnored() {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        for news in [
            News.stop(job: "x", epoch: 9), .end(job: "x", status: "cancelled"), .end(job: "j", status: "later"),
        ] {
            rig = rig.hearing(news)
        }
        #expect(rig.state(0) == .sending)
    }

    /// What an earlier holder may have sent, Redis knows.
    @Test func aTakenOverBatchGoesBackWithItsWatermark() {
        var rig = MachineRig()
        rig.claim(.of { $0.deliveries = 2 })
        rig.handle(.giveUpJob("j"))
        #expect(rig.releases == [.init(batch: "j/0", epoch: "1", watermark: nil)])
        rig.expectEmpty()
    }

    @Test func batchWhoseSpecCameWithItBeginsAtOnce() {
        var rig = MachineRig()
        let reply = ClaimReply.empty(claims: [.of { $0.pass = .retry }]) { $0.specs = ["j": .message()] }
        rig.handle(.claimReplied(reply, askedNs: rig.now.monotonicNs))
        #expect(rig.takeNamed() == ["batchBegan"])
    }

    @Test(arguments: ["equal", "message", "replace", "kind", "format", "check"])
    func adapterIsSharedByJobsWithEqualRequests(difference: String) {
        let job = SendJob(id: "j", spec: .message(), settings: ProtocolSettings())
        let other = JobSpec.message(ttl: difference == "message" ? "5s" : nil) {
            if difference == "replace" { $0.delivery = .replace }
            if difference == "kind" { $0.target = .fids(["f0"]) }
            if difference == "format" { $0.format = .legacy }
            if difference == "check" { $0.validateOnly = true }
        }
        #expect((job.adapter(for: other) != nil) == (difference == "equal"))
        let second = SendJob(id: "k", spec: other, settings: ProtocolSettings())
        #expect((second.adapter(for: other) == nil) == (difference == "replace"))
    }

    @Test func aJobThatEndedHasNoSpec() {
        var rig = MachineRig()
        rig.claim(.of(batch: "0"), .of(batch: "1", epoch: 2), .of("other"))
        #expect(rig.takeNamed() == ["loadSpec j", "loadSpec other"], "one spec serves all batches of a job")
        rig.handle(.specMissing(job: "j"))
        #expect(rig.machine.batchCount == 1 && rig.releases.isEmpty)
        rig.handle(.specMissing(job: "unknown"))
        rig.handle(.specLoaded(job: "j", .message()))
        #expect(rig.machine.batchCount == 1)
    }

    @Test func anUnreadableSpecIsSaidOnceAMinute() {
        var rig = MachineRig()
        rig.claim(.of())
        for _ in 0..<3 { rig.handle(.specUnreadable(job: "j")) }
        #expect(rig.logs.count == 1 && rig.takeNamed().count { $0 == "giveUpJobLater j" } == 3)
        rig.advance(milliseconds: 60_000)
        rig.handle(.specUnreadable(job: "j"))
        #expect(rig.logs.count == 2)
        rig.handle(.giveUpJob("j"))
        #expect(rig.releases == [.init(batch: "j/0", epoch: "1", watermark: 0)])
        rig.expectEmpty()
    }

    /// Only what waits for the spec goes back.
    @Test func givingAJobUpSparesPreparedBatches() {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        rig.handle(.giveUpJob("j"))
        #expect(rig.state(0) == .sending && rig.releases.isEmpty)
    }

    @Test func aClaimMayArriveWhileTheWorkerDrains() {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        rig.send()
        rig.handle(.drain)
        rig.claim(.of(batch: "1", epoch: 2), .of("other"))
        rig.send()
        #expect(rig.requests.count == 1)
        #expect(rig.releases == [.init(batch: "other/0", epoch: "1", watermark: 0)])
        rig.answer(.sent())
        let (written, _) = rig.writeAll()
        #expect(written == "0r 0s" || written == "0s 0r")
        rig.expectEmpty()
    }

    @Test func aClaimMayArriveWhileItsJobEnds() {
        var rig = MachineRig()
        rig.claim(.of { $0.ending = "cancelled" })
        rig.handle(.specLoaded(job: "j", .message()))
        rig.send()
        #expect(rig.requests.isEmpty)
        #expect(rig.writeAll().written == "0c")
        rig.expectEmpty()
    }
}
