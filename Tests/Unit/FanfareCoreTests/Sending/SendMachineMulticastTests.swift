import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Several recipients share a request.
@Suite struct SendMachineMulticastTests {
    private static let legacy: SendMachine.Settings = {
        var settings = SendMachine.Settings()
        settings.protocols.transport = .legacy
        return settings
    }()

    @Test func aMulticastCarriesAllThatItsWatermarkCovers() {
        var rig = MachineRig(Self.legacy)
        rig.hold(.of(count: 5, watermark: 2), .message(total: 5))
        rig.send()
        #expect(rig.requests.isEmpty && rig.flushes.map(\.call.watermark) == [5])
        rig.confirm()
        rig.send()
        #expect(rig.positions == [[0, 1, 2, 3, 4]])
        rig.answer(rig.accepted(rig.requests[0].tag))
        #expect(rig.confirm().call.letters.count == 5)
        rig.expectEmpty()
    }

    @Test func eachRecipientOfAMulticastHasItsOwnVerdict() {
        var rig = MachineRig(Self.legacy)
        rig.hold(.of(count: 3), .message(total: 3))
        rig.send()
        let results = #"[{"message_id":"1"},{"error":"NotRegistered"},{"error":"Unavailable"}]"#
        rig.answer(.status(200, #"{"success":1,"failure":2,"results":\#(results)}"#))
        #expect(rig.confirm().call.fates == [0: "s", 1: "f", 2: "r"])
        rig.expectEmpty()
    }

    @Test func aMulticastNeedsAllItsPermits() {
        var rig = MachineRig(Self.legacy)
        rig.claim(.of(count: 5), .of("other"), permits: 4)
        rig.handle(.specLoaded(job: "j", .message(total: 5)))
        rig.handle(.specLoaded(job: "other", .message()))
        rig.send()
        #expect(rig.positions == [[0]], "a few permits are enough for others")
        #expect(rig.takeNamed().contains("claimPermits"))
        rig.lend(2)
        rig.send()
        #expect(rig.positions == [[0], [0, 1, 2, 3, 4]])
    }

    /// A canary whose rest must wait would never end if a request waited for the rest.
    @Test func aMulticastOfAGuardedJobCarriesWhatIsGranted() {
        var rig = MachineRig(Self.legacy)
        rig.hold(.of(count: 5, watermark: 2), .message(total: 5) { $0.guards.ratePerMinute = 60 })
        rig.send()
        #expect(rig.positions == [[0, 1]] && rig.flushes.map(\.call.watermark) == [5])
        var guarded = GuardedReply()
        (guarded.watermark, guarded.waitMs) = (4, 100)
        rig.confirm(0, .ok(guarded: guarded))
        rig.send()
        #expect(rig.positions == [[0, 1], [2, 3]])
        rig.advance(milliseconds: 100)
        rig.send()
        rig.confirm()
        rig.send()
        #expect(rig.positions == [[0, 1], [2, 3], [4]])
    }

    /// Pacing decides when a request goes, but no request takes more than a quarter of a minute's quota.
    @Test func aMulticastIsNoLargerThanAQuarterOfTheQuota() {
        var settings = Self.legacy
        settings.quotaPerMinute = 8
        var rig = MachineRig(settings)
        rig.hold(.of(count: 5), .message(total: 5))
        rig.send()
        #expect(rig.positions == [[0, 1], [2, 3], [4]])
    }

    @Test func aCutAnswerToAMulticastIsLogged() {
        var rig = MachineRig(Self.legacy)
        rig.hold(.of(count: 2), .message(total: 2))
        rig.send()
        let body = Array(#"{"success":2,"results":[{"message_id":"1"},{"mess"#.utf8)
        rig.answer(
            .answered(HTTPAnswer(status: 200, body: body, isComplete: false, contentType: "application/json"))
        )
        #expect(rig.logs.contains { $0.contains("cut short") })
        #expect(rig.confirm().call.fates == [0: "s", 1: "r"])
        rig.expectEmpty()
    }
}
