import Testing

@testable import EventLoop

/// Virtual time, which tests of drivers use in the place of a running loop.
@Suite struct AdvanceTests {
    @Test func timersRunInOrderAtTheirOwnTimes() throws {
        let loop = try EventLoop()
        let start = loop.now
        var runs: [UInt64] = []
        func record() { runs.append((loop.now - start) / 1_000_000) }
        let repeating = loop.every(milliseconds: 40) { record() }
        loop.schedule(afterMilliseconds: 90) {
            record()
            loop.schedule(afterMilliseconds: 0) { record() }
            loop.schedule(afterMilliseconds: 11) { record() }
        }
        loop.advance(milliseconds: 100)
        #expect(runs == [40, 80, 90, 90])
        #expect(loop.now == start + 100_000_000)
        loop.cancel(repeating)
        loop.advance(milliseconds: 100)
        #expect(runs == [40, 80, 90, 90, 101])
    }

    @Test func inboxesAndHooksRunWithoutATimer() throws {
        let loop = try EventLoop()
        let inbox = Inbox<Int>()
        var received: [Int] = []
        var turns = 0
        loop.attach(inbox) { received.append($0) }
        loop.onTurnEnd { turns += 1 }
        for number in 0..<300 { inbox.send(number) }
        loop.advance()
        #expect(received == Array(0..<300))
        #expect(turns > 0)
    }
}
