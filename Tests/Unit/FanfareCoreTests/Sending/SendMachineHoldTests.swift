import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What the log says of a hold, whichever worker was asked to wait.
@Suite struct SendMachineHoldTests {
    private static let begin = "FCM asked to wait: the project's sends are held."
    private static let end = "FCM's hold of the project is over."

    private func hear(_ rig: inout MachineRig, holdMs: Int64) {
        rig.handle(.claimReplied(.empty { $0.holdMs = holdMs }, askedNs: rig.now.monotonicNs))
    }

    @Test func refusalsOfManySendsAreOneLineAndTheirEndAnother() {
        var rig = MachineRig()
        rig.hold(.named((0..<20).map { "t\($0)" }, "j", watermark: 20), .message(total: 20))
        rig.send()
        for _ in 0..<rig.requests.count { rig.answer(.overQuota) }
        #expect(rig.logs == [Self.begin])
        for _ in 0..<100 {
            rig.advance(milliseconds: 1_000)
            hear(&rig, holdMs: 0)
        }
        #expect(rig.logs == [Self.begin, Self.end])
    }

    @Test func holdThatAnotherWorkerReportedIsLoggedOnce() {
        var rig = MachineRig()
        for second: Int64 in 0..<30 {
            hear(&rig, holdMs: 30_000 - 1_000 * second)
            rig.advance(milliseconds: 1_000)
        }
        #expect(rig.logs == [Self.begin])
        hear(&rig, holdMs: 0)
        #expect(rig.logs == [Self.begin], "a hold that follows at once would continue it")
        let endMs = rig.now.wallMs
        rig.advance(milliseconds: 5_000)
        hear(&rig, holdMs: 0)
        hear(&rig, holdMs: 0)
        let ended = CalendarTime(unixMs: endMs).rfc3339
        #expect(rig.lastLog?.metadata.map(\.value) == [ended, "30"])
        #expect(rig.logs == [Self.begin, Self.end])
    }
}
