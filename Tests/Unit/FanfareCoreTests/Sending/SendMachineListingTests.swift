import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Recipients whose answer takes several requests.
@Suite struct SendMachineListingTests {
    private static func page(_ topics: [String], next: String = "") -> RequestOutcome {
        let list = topics.map { #"{"topicName":"\#($0)"}"# }.joined(separator: ",")
        return .status(200, #"{"topicSubscriptions":[\#(list)],"nextPageToken":"\#(next)"}"#)
    }

    private static func rig() -> MachineRig {
        var settings = SendMachine.Settings()
        settings.protocols.topicAPI = .v1
        return MachineRig(settings)
    }

    @Test func everyPageOfATokenIsAskedForBeforeItsResult() {
        var rig = Self.rig()
        rig.hold(.of(count: 2), .operation(.topicList, total: 2))
        rig.handle(.managementGranted(9))
        rig.send()
        #expect(rig.positions == [[0], [1]])
        rig.answer(Self.page(["a"], next: "x"))
        rig.send()
        #expect(rig.positions == [[1], [0]])
        #expect(rig.requests[1].request.path.hasSuffix("&pageToken=x"))
        rig.answer(Self.page(["c"]))
        rig.answer(Self.page(["b"]))
        let call = rig.confirm().call
        #expect(call.letters == [0: "s", 1: "s"])
        #expect(
            call.objects.contains(#""token":"t0","status":"sent","message_id":"","attempts":1,"topics":["a","b"]}"#)
        )
        #expect(call.objects.contains(#""token":"t1","status":"sent","message_id":"","attempts":1,"topics":["c"]}"#))
        rig.expectEmpty()
    }

    /// A page that fails leaves no half: the next attempt begins with the first page.
    @Test func failedPageIsRetriedFromTheFirst() {
        var rig = Self.rig()
        let slot = rig.hold(.of(), .operation(.topicList))
        rig.handle(.managementGranted(9))
        rig.send()
        rig.answer(Self.page(["a"], next: "x"))
        rig.send()
        rig.answer(.status(503))
        #expect(rig.machine.batches.held[slot].continuations.isEmpty)
        #expect(rig.writeAll().written.hasPrefix("0r"))
    }

    @Test func stoppedBatchGivesATokenBackBetweenTwoPages() {
        var rig = Self.rig()
        rig.hold(.of(), .operation(.topicList))
        rig.handle(.managementGranted(9))
        rig.send()
        rig.handle(.drain)
        rig.answer(Self.page(["a"], next: "x"))
        rig.send()
        #expect(rig.requests.isEmpty)
        #expect(rig.writeAll().written.hasPrefix("0r"))
    }

    /// A token may have 2,000 topics: an entry of the results stream stays near a mebibyte.
    @Test func largeResultsAreWrittenBeforeTheFlushIsFull() {
        var rig = Self.rig()
        rig.hold(.of(count: 3), .operation(.topicList, total: 3))
        rig.handle(.managementGranted(9))
        rig.send()
        let names = (0..<1_200).map { "\($0)-" + String(repeating: "n", count: 890) }
        rig.answer(Self.page(names))
        #expect(rig.flushes.count == 1, "without a timer")
    }
}
