import NIOCore
import NIOEmbedded
import Testing

@testable import FanfareGateway

@Suite struct RequestClockTests {
    private final class Stand {
        let loop = EmbeddedEventLoop()
        var late = 0
        lazy var clock = RequestClock(.seconds(30), on: loop) { self.late += 1 }
    }

    @Test func timeThatIsOverIsReportedOnce() {
        let stand = Stand()
        stand.clock.start()
        stand.loop.advanceTime(by: .seconds(29))
        #expect(stand.late == 0)
        stand.loop.advanceTime(by: .hours(1))
        #expect(stand.late == 1)
    }

    @Test func startAgainBeginsTheTimeAgain() {
        let stand = Stand()
        stand.clock.start()
        stand.loop.advanceTime(by: .seconds(20))
        stand.clock.start()
        stand.loop.advanceTime(by: .seconds(29))
        #expect(stand.late == 0)
        stand.loop.advanceTime(by: .seconds(1))
        #expect(stand.late == 1)
    }

    @Test func stoppedClockStands() {
        let stand = Stand()
        stand.clock.start()
        stand.clock.stop()
        stand.clock.bytesCame()
        stand.loop.advanceTime(by: .hours(1))
        #expect(stand.late == 0)
    }

    @Test(arguments: [true, false])
    func bytesStartTheTimeOfTheNextRequest(cameBefore: Bool) {
        let stand = Stand()
        stand.clock.start()
        stand.clock.stop()
        if cameBefore { stand.clock.bytesCame() }
        stand.clock.awaitNext()
        stand.loop.advanceTime(by: .seconds(20))
        if !cameBefore { stand.clock.bytesCame() }
        // More bytes are no new start.
        stand.clock.bytesCame()
        stand.loop.advanceTime(by: .seconds(29))
        #expect(stand.late == (cameBefore ? 1 : 0))
        stand.loop.advanceTime(by: .seconds(1))
        #expect(stand.late == 1)
    }

    @Test func endedClockKeepsNothing() {
        weak var seen: Stand?
        var clock: RequestClock?
        do {
            let stand = Stand()
            seen = stand
            clock = stand.clock
            clock?.start()
            clock?.end()
            stand.loop.advanceTime(by: .hours(1))
            #expect(stand.late == 0)
        }
        #expect(seen == nil && clock != nil)
    }
}
