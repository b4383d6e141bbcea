import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Sends begin: as the watermark, the permits, the room and the gate allow.
@Suite struct SendMachineSendingTests {
    private static func settings(_ change: (inout SendMachine.Settings) -> Void = { _ in }) -> SendMachine.Settings {
        var settings = SendMachine.Settings()
        change(&settings)
        return settings
    }

    // MARK: From a claim to its end

    @Test func aBatchIsClaimedSentAnsweredWrittenAndClosed() {
        var rig = MachineRig(Self.settings { $0.window = 4 })
        rig.claim(.of(count: 6, watermark: 2), permits: 100)
        #expect(rig.takeNamed() == ["loadSpec j"])
        rig.handle(.specLoaded(job: "j", .message(total: 6)))
        #expect(rig.takeNamed() == ["batchBegan"])
        rig.send()
        #expect(rig.positions == [[0], [1]])
        #expect(rig.flushes.map(\.call.watermark) == [6], "the watermark is requested while sends continue")
        rig.confirm()
        rig.send()
        #expect(rig.positions == [[0], [1], [2], [3], [4], [5]])
        #expect(rig.takeNamed() == ["claim"], "there is room for more work")
        for _ in 0..<5 { rig.answer(.sent()) }
        #expect(rig.flushes.isEmpty && rig.flushAt == rig.now.monotonicNs + 5_000_000)
        rig.answer(.sent())
        #expect(rig.flushes.map(\.call.finish) == [true], "the last result goes at once")
        #expect(rig.confirm().call.letters.count == 6)
        #expect(rig.outcomes == [.closed])
        rig.expectEmpty()
    }

    @Test func aJobThatIsHandedOverIsSentAtOnce() {
        var rig = MachineRig()
        rig.handle(.permitsLent(1, askedNs: rig.now.monotonicNs))
        rig.handle(.batchTaken(.of(), SendJob(id: "j", spec: .message(), settings: .init())))
        rig.send()
        #expect(rig.positions == [[0]])
        rig.answer(.sent())
        rig.confirmAll()
        rig.expectEmpty()
    }

    @Test func theTimeThatABatchWaitedIsMetered() {
        var rig = MachineRig()
        var spec = JobSpec.message(total: 2)
        spec.sinceMs = rig.now.wallMs - 700
        rig.hold(.of(count: 2), spec)
        rig.send()
        let waited = rig.meters.filter { if case .waited = $0 { true } else { false } }
        #expect(waited == [.waited(milliseconds: 700, recipients: 2)], "once a batch")
    }

    // MARK: A batch that was taken over

    @Test func whatAnEarlierWorkerMayHaveSentWaitsForItsAnswer() {
        var rig = MachineRig()
        rig.hold(
            .of(count: 3) {
                $0.deliveries = 2
                $0.recipients[0].progress = .settled
                $0.recipients[1].progress = .maybeSent
            },
            .message(total: 3)
        )
        #expect(rig.meters == [.tookOver] && rig.logs == ["A batch was taken over."])
        rig.send()
        #expect(rig.positions == [[2]])
        rig.flushNow()
        let retry = rig.confirm().call.retries.first
        #expect(
            retry?.index == 1 && retry?.dueMs == rig.now.projectMs + 2_000 && retry?.packed.contains("|1|t1") == true
        )
        rig.answer(.sent())
        rig.confirmAll()
        rig.expectEmpty()
    }

    @Test func batchThatAPauseGaveBackIsNotLoggedAsTakenOver() {
        var rig = MachineRig()
        rig.hold(
            .of(count: 2) {
                $0.deliveries = 2
                $0.recipients[0].progress = .settled
            },
            .message(total: 2)
        )
        #expect(rig.meters == [.tookOver] && rig.logs.isEmpty)
    }

    @Test func aBatchOfWhichAllIsInDoubtIsClosed() {
        var rig = MachineRig()
        let claim = Claim.of(count: 2) { for index in 0..<2 { $0.recipients[index].progress = .maybeSent } }
        rig.hold(claim, .message(total: 2))
        #expect(rig.flushes.map(\.call.finish) == [true])
        rig.confirmAll()
        rig.expectEmpty()
    }

    @Test func aBatchWithoutAnOpenRecipientIsClosed() {
        var rig = MachineRig()
        rig.hold(.of { $0.recipients[0].progress = .settled }, .message())
        #expect(rig.flushes.map(\.call.finish) == [true] && rig.flushes.map(\.count) == [0])
        rig.confirmAll()
        rig.expectEmpty()
    }

    // MARK: Equal recipients

    @Test func equalRecipientsShareASendAndItsResult() {
        var rig = MachineRig()
        rig.hold(.named(["a", "b", "a", "a"]), .message(total: 4))
        rig.send()
        #expect(rig.positions == [[0], [1]])
        rig.answer(.dead)
        rig.answer(.sent())
        #expect(rig.confirm().call.letters == [0: "f", 1: "s", 2: "f", 3: "f"])
        rig.expectEmpty()
    }

    @Test func equalRecipientsWaitTogether() {
        var rig = MachineRig()
        rig.hold(.named(["a", "a", "a"]), .message(total: 3))
        rig.send()
        rig.answer(.overloaded)
        let due = rig.confirm().call.retries.map(\.dueMs)
        #expect(due.count == 3 && Set(due).count == 1, "or each would be sent on its own")
        rig.expectEmpty()
    }

    /// A retry batch holds what several batches left, so equal recipients may have different histories.
    @Test(arguments: [[0, 1], [1, 0]])
    func equalRecipientsWithDifferentHistoriesShareASend(order: [Int]) {
        var rig = MachineRig()
        let old = RecipientHistory(attempts: 1, firstAttemptMs: rig.now.projectMs - 60_000)
        let claim = Claim.named(["a", "a"]) {
            $0.pass = .retry
            $0.recipients[order[0]].history = old
        }
        rig.hold(claim, .message(total: 2_000, ttl: "30s"))
        rig.send()
        while !rig.requests.isEmpty { rig.answer(.sent()) }
        rig.confirmAll()
        rig.expectEmpty()
    }

    // MARK: What limits sends

    @Test func noMoreIsSentThanThereArePermits() {
        var rig = MachineRig()
        rig.hold(.of(count: 5), .message(total: 5))
        rig.advance(milliseconds: 251)
        rig.send()
        #expect(rig.requests.isEmpty && rig.takeNamed().last == "claimPermits", "permits are good for a moment")
        rig.lend(2)
        rig.send()
        #expect(rig.positions == [[0], [1]])
    }

    @Test func noMoreIsSentThanARouteTakes() {
        var rig = MachineRig()
        rig.hold(.of(count: 5), .message(total: 5))
        rig.room[.fcm] = 3
        rig.send()
        #expect(rig.requests.count == 3)
    }

    @Test func noMoreIsInFlightThanTheWorkerMayHave() {
        var rig = MachineRig(Self.settings { $0.maximumInFlight = 2 })
        rig.hold(.of(count: 5), .message(total: 5))
        rig.send()
        #expect(rig.requests.count == 2)
        rig.answer(.sent())
        rig.send()
        #expect(rig.requests.count == 2)
    }

    @Test func sendsWaitWhileTooMuchIsUncommitted() {
        var rig = MachineRig(Self.settings { $0.maximumInFlight = 1 })
        rig.hold(.of(count: 6), .message(total: 6))
        for _ in 0..<4 {
            rig.send()
            rig.answer(.sent())
        }
        #expect(rig.machine.gate.uncommitted == 4)
        rig.send()
        #expect(rig.requests.isEmpty)
        rig.flushNow()
        rig.send()
        #expect(rig.requests.isEmpty, "written is not confirmed")
        rig.confirm()
        rig.send()
        #expect(rig.requests.count == 1)
    }

    @Test(arguments: ["draining", "lease", "ready", "pause", "pressure", "quarantine", "pending"])
    func nothingIsSentWhileTheGateIsClosed(cause: String) {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        switch cause {
        case "draining": rig.machine.gate.isDraining = true
        case "lease": rig.machine.gate.resources.leaseHolds = false
        case "ready": rig.machine.gate.isReady = false
        case "pause":
            rig.handle(.claimReplied(.empty(permits: 9) { $0.pauseReason = "why" }, askedNs: rig.now.monotonicNs))
        case "pressure": rig.handle(.claimReplied(.empty { $0.pressure = "memory" }, askedNs: rig.now.monotonicNs))
        case "quarantine": rig.machine.gate.resources.isQuarantineOpen = false
        default: rig.machine.gate.resources.credential = .pending
        }
        rig.send()
        #expect(rig.requests.isEmpty && rig.takeNamed().contains("claim") == false)
    }

    @Test func aHeldProjectIsWokenAtItsTime() {
        var rig = MachineRig()
        rig.hold(.of(count: 2), .message(total: 2))
        rig.handle(.claimReplied(.empty(permits: 9) { $0.holdMs = 400 }, askedNs: rig.now.monotonicNs))
        rig.send()
        rig.send()
        #expect(rig.requests.isEmpty && rig.wakeAt == rig.now.monotonicNs + 400_000_000)
        rig.advance(milliseconds: 400)
        rig.wake()
        rig.lend(2)
        rig.send()
        #expect(rig.requests.count == 2)
    }

    // MARK: The order

    @Test func jobsOfOneBatchGoBeforeFanouts() {
        var rig = MachineRig()
        rig.hold(.of("fanout"), .message(total: 2_000))
        rig.hold(.of("single"), .message())
        rig.send()
        #expect(
            rig.requests.compactMap { rig.machine.request($0.tag) }.map { rig.machine.batches.held[$0.slot].source.job }
                == [
                    "single", "fanout",
                ]
        )
    }

    @Test func fanoutReportsItsLastSendOnce() {
        var rig = MachineRig()
        rig.hold(.of(count: 2), .message(total: 2_000))
        rig.send()
        #expect(rig.flushes.map(\.call.allSent) == [true])
        rig.answer(.unsent)
        rig.send()
        #expect(rig.flushes.count == 1)
    }

    /// A job whose recipients all fail must not be the only one that tries FCM.
    @Test func overloadedBatchesStandBehindTheOthers() {
        var rig = MachineRig()
        rig.hold(.of("failing", count: 30), .message(total: 30))
        rig.room[.fcm] = 1
        for _ in 0..<25 {
            rig.send()
            rig.answer(.overloaded)
        }
        rig.hold(.of("other", count: 2), .message(total: 2))
        rig.send()
        #expect(
            rig.requests.compactMap { rig.machine.request($0.tag) }.map { rig.machine.batches.held[$0.slot].source.job }
                == [
                    "other"
                ]
        )
    }

    // MARK: Rates of recipients

    @Test func aRefusedRecipientWaitsInRedis() {
        var rig = MachineRig()
        rig = rig.hearing(.rate(recipient: "token:t0", untilMs: rig.now.projectMs + 5_000))
        rig.hold(.of(count: 2), .message(total: 2))
        rig.send()
        #expect(rig.positions == [[1]])
        rig.answer(.sent())
        let call = rig.confirm().call
        #expect(call.retries.map(\.dueMs) == [rig.now.projectMs + 5_000] && call.retries.first?.packed == "0|0|0|t0")
        rig.expectEmpty()
    }

    @Test(arguments: [0, 3_000, .max])
    func redisDecidesOnARecipientThatWasRefusedLately(waitMs: Int64) {
        var rig = MachineRig()
        rig = rig.hearing(.rate(recipient: "token:t0", untilMs: rig.now.projectMs))
        rig.hold(.of(), .message())
        rig.send()
        #expect(rig.requests.isEmpty && rig.checks.map(\.name) == ["token:t0"])
        rig.answerRate(waitMs: waitMs)
        rig.send()
        #expect(rig.requests.count == (waitMs == 0 ? 1 : 0))
        if waitMs == 0 { rig.answer(.sent()) }
        #expect(rig.confirm().call.fates == [0: waitMs == 0 ? "s" : "r"])
        rig.expectEmpty()
    }

    /// The batch waits for the answer, after which nothing of it is sent.
    @Test(arguments: [(News.stop(job: "j", epoch: 9), "0r"), (.end(job: "j", status: "cancelled"), "0c")])
    func aCheckedRecipientFollowsItsBatch(news: News, fate: String) {
        var rig = MachineRig()
        rig = rig.hearing(.rate(recipient: "token:t0", untilMs: rig.now.projectMs))
        rig.hold(.of(), .message())
        rig.send()
        rig = rig.hearing(news)
        #expect(rig.machine.batchCount == 1)
        rig.answerRate(waitMs: 0)
        #expect(rig.writeAll().written == fate)
        rig.expectEmpty()
    }

    // MARK: Operations

    @Test func operationsWaitForARateOfTheirOwn() {
        var rig = MachineRig()
        rig.claim(.of(count: 2))
        rig.handle(.specLoaded(job: "j", .operation(total: 2)))
        rig.send()
        rig.send()
        #expect(rig.requests.isEmpty)
        #expect(rig.takeNamed().filter { $0.hasPrefix("request") } == ["requestManagement 2"], "asked for once")
        rig.handle(.managementGranted(2))
        rig.send()
        #expect(rig.positions == [[0, 1]], "without a permit")
        rig.answer(rig.accepted(rig.requests[0].tag))
        let call = rig.confirm().call
        #expect(call.letters == [0: "s", 1: "s"])
        #expect(call.subscribed.count == "news\n".utf8.count + 2 * 8)
        rig.expectEmpty()
    }

    // MARK: What fails without a send

    @Test func aRecipientThatIsNoTokenFailsWithoutASend() {
        var rig = MachineRig()
        rig.hold(.named(["not a token", "t1", "not a token"]), .message(total: 3))
        rig.send()
        #expect(rig.positions == [[1]])
        rig.answer(.sent())
        #expect(rig.confirm().call.letters == [0: "f", 1: "s", 2: "f"])
        rig.expectEmpty()
    }

    @Test func aJobThatCannotBeTranslatedFails() {
        var rig = MachineRig(Self.settings { $0.protocols.transport = .legacy })
        var spec = JobSpec.message(to: .fids(["t0"]))
        spec.message = Array(#"{"android":{"ttl":"x"}}"#.utf8)
        rig.hold(.of(), spec)
        rig.send()
        guard rig.requests.isEmpty else { return }
        #expect(rig.writeAll().written == "0f")
        rig.expectEmpty()
    }
}
