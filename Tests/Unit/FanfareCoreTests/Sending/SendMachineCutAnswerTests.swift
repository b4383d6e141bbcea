import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What an answer whose body is cut does to the limits of a worker.
@Suite struct SendMachineCutAnswerTests {
    private func sending(_ count: Int) -> MachineRig {
        var rig = MachineRig()
        rig.hold(.of(count: count), .message(total: count))
        rig.send()
        return rig
    }

    /// The message counts as sent, and the answer as none: neither the limit nor the report to Redis rises by it.
    @Test func cutAnswerCountsAsSentAndAsNoAnswer() {
        var rig = sending(60)
        let before = rig.machine.limit.limit
        for _ in 0..<60 {
            rig.answer(.answered(HTTPAnswer(status: 200, isComplete: false, contentType: "application/json")))
        }
        #expect(rig.machine.answers.report(now: rig.now.monotonicNs).answers == 0)
        #expect(rig.machine.limit.limit < before && rig.machine.limit.isOverloaded)
        #expect(!rig.writeAll().written.contains("r"))
        rig.expectEmpty()
    }

    @Test func cutAnswerWithARetryAfterCountsAsRefused() {
        var rig = sending(1)
        rig.answer(.answered(HTTPAnswer(status: 503, isComplete: false, retryAfter: "7")))
        let report = rig.machine.answers.report(now: rig.now.monotonicNs)
        #expect(report.answers == 1 && report.refused == 1)
    }
}
