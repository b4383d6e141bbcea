import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Jobs whose watermarks Redis grants, and what their flushes report.
@Suite struct SendMachineGuardTests {
    private static func spec(_ change: (inout JobGuards) -> Void) -> JobSpec {
        var spec = JobSpec.message(total: 10_000)
        change(&spec.guards)
        return spec
    }

    private static func reply(_ watermark: Int?, waitMs: Int64 = 0, paused: PauseGuard? = nil) -> RecordReply {
        var guarded = GuardedReply()
        (guarded.watermark, guarded.waitMs, guarded.paused) = (watermark, waitMs, paused)
        return .ok(guarded: guarded)
    }

    private static func rig() -> MachineRig {
        var settings = SendMachine.Settings()
        settings.window = 4
        return MachineRig(settings)
    }

    private static let tokens = (0..<20).map { "t\($0)" }

    /// The last flush that asks for a watermark.
    private func ask(_ rig: MachineRig) -> Int? { rig.flushes.firstIndex { $0.call.watermark != nil } }

    @Test func sendsStopAtAPartialGrant() throws {
        var rig = Self.rig()
        let slot = rig.hold(.named(Self.tokens, "j", watermark: 2), Self.spec { $0.ratePerMinute = 60 })
        rig.send()
        #expect(rig.requests.count == 2)
        rig.confirm(try #require(ask(rig)), Self.reply(3, waitMs: 500))
        rig.send()
        #expect(rig.requests.count == 3)
        #expect(rig.machine.batches.held[slot].unsent.watermark == .init(confirmed: 3, requested: 3))
        // Not before the wait is over.
        #expect(ask(rig) == nil)
        rig.advance(milliseconds: 499)
        rig.send()
        #expect(ask(rig) == nil && rig.wakeAt != nil)
        rig.advance(milliseconds: 1)
        rig.send()
        #expect(rig.flushes[try #require(ask(rig))].call.watermark.map { $0 > 3 } == true)
    }

    /// Otherwise a batch that waits for its rate would keep the fan-out that has the slot from being claimed.
    @Test func recipientsThatWaitForAGuardFillNoRoomAndNeedNoPermits() {
        var rig = Self.rig()
        rig.hold(.named(Self.tokens, "j", watermark: 2), Self.spec { $0.ratePerMinute = 60 })
        #expect(rig.machine.unsent == 2)
        rig.send()
        #expect(rig.requests.count == 2 && rig.machine.unsent == 0)
        rig.confirm(0, Self.reply(5, waitMs: 500))
        #expect(rig.machine.unsent == 3)
    }

    @Test func guardedBatchAsksForOneWatermarkAtATime() throws {
        var rig = Self.rig()
        // Without guards it would ask again: fewer sends than half a window are below the requested watermark.
        rig.hold(.named(Self.tokens, "j", watermark: 6), Self.spec { $0.stopIf = "failed>5%" })
        rig.send()
        rig.machine.batches.held[0].unsent.watermark.confirmed = 7
        rig.machine.batches.held[0].unsent.watermark.requested = 8
        rig.send()
        rig.flushNow()
        rig.send()
        #expect(rig.requests.count == 7 && rig.flushes.count { $0.call.watermark != nil } == 1)
    }

    /// A stop that comes while the batch asks for a watermark gives back only what Redis has allowed.
    @Test func stopWhileAskingGivesBackWhatWasGranted() throws {
        var rig = Self.rig()
        rig.hold(.named(Self.tokens, "j", watermark: 4), Self.spec { $0.canary = "6" })
        rig.room[.fcm] = 3
        rig.send()
        #expect(rig.requests.count == 3)
        let asking = try #require(ask(rig))
        rig.handle(.claimReplied(.empty { $0.news = [.stop(job: "j", epoch: 1)] }, askedNs: rig.now.monotonicNs))
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.retries).map(\.index) == [3])
        rig.confirm(asking, Self.reply(6))
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.retries).map(\.index) == [3, 4, 5])
        #expect(rig.releases.isEmpty, "answers are awaited")
        for _ in 0..<3 { rig.answer(.sent()) }
        rig.confirmAll()
        #expect(rig.releases.map(\.batch) == ["j/0"])
    }

    /// A send waits until every recipient that shares it is allowed: recipients after the canary would never be.
    @Test func equalRecipientsOnBothSidesOfTheCanaryAreSentApart() {
        var rig = Self.rig()
        var spec = Self.spec { $0.canary = "5" }
        spec.total = 22
        rig.hold(.named(["a"] + Self.tokens + ["a"], "j", watermark: 5), spec)
        rig.send()
        #expect(rig.requests.count == 5)
    }

    @Test func firstAttemptsAreReportedOnce() throws {
        var rig = Self.rig()
        var claim = Claim.named(["a", "b", "c", "d", "bad token"], "j")
        claim.recipients[3].history = RecipientHistory(attempts: 1, firstAttemptMs: 1)
        rig.hold(claim, Self.spec { $0.stopIf = "failed>5%" })
        rig.send()
        #expect(rig.requests.count == 4)
        rig.answer(.sent())
        rig.answer(.status(503))
        rig.answer(.dead)
        rig.answer(.sent())
        rig.flushNow()
        let letters = rig.flushes.flatMap(\.call.firstAttempts)
        #expect(
            String(decoding: letters.sorted(), as: UTF8.self) == "ALrs",
            "the retried recipient is not counted again"
        )
    }

    @Test func jobsWithoutStopConditionsReportNothing() {
        var rig = Self.rig()
        rig.hold(.named(["a"], "j"), Self.spec { $0.ratePerMinute = 10 })
        rig.send()
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.firstAttempts).isEmpty)
    }

    @Test func pauseIsCountedAndLogged() throws {
        var rig = Self.rig()
        rig.hold(.named(Self.tokens, "j", watermark: 2), Self.spec { $0.stopIf = "failed>5%" })
        rig.send()
        rig.confirm(try #require(ask(rig)), Self.reply(2, waitMs: 1_000, paused: .stopIf))
        #expect(rig.meters.contains(.paused(.stopIf)))
        #expect(rig.logs.contains { $0.contains("stop_if") })
    }

    /// Nothing is in flight, and no recipient below the watermark is left: the batch is gone at once.
    @Test func closedWindowReleasesAQuietBatch() throws {
        var rig = Self.rig()
        let closes = rig.now.wallMs + 1_000
        let claim = Claim.named(Self.tokens, "j", watermark: 2) { $0.closesMs = closes }
        rig.hold(claim, Self.spec { $0.sendWindow = "09:00-10:00 Etc/UTC" })
        rig.send()
        rig.confirm(try #require(ask(rig)), Self.reply(2, waitMs: 60_000))
        rig.answer(.sent())
        rig.answer(.sent())
        rig.confirmAll()
        rig.advance(milliseconds: 1_000)
        rig.send()
        #expect(rig.releases.map(\.batch) == ["j/0"] && rig.machine.isEmpty)
    }

    @Test func closedWindowGivesTheRestBack() {
        var rig = Self.rig()
        let closes = rig.now.wallMs + 1_000
        rig.hold(
            .named(Self.tokens, "j", watermark: 20) { $0.closesMs = closes },
            Self.spec { $0.sendWindow = "09:00-10:00 Etc/UTC" }
        )
        rig.room[.fcm] = 5
        rig.send()
        #expect(rig.requests.count == 5)
        rig.advance(milliseconds: 1_000)
        rig.room[.fcm] = 10_000
        rig.send()
        #expect(rig.requests.count == 5, "no send begins once the window has closed")
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.retries).count == 15)
    }
}
