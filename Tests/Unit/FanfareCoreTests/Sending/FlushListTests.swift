import Testing

@testable import FanfareCore

@Suite struct FlushListTests {
    @Test func timerIsArmedOnceUntilItFires() {
        var flushes = FlushList()
        #expect((0..<2).map { _ in flushes.arm() } == [true, false])
        flushes.timerFired()
        #expect(flushes.arm() == true)
    }

    @Test func slotsComeInTheirOrderAndOnce() {
        var flushes = FlushList()
        for slot in [3, 1, 2] { flushes.append(slot) }
        let slots = flushes.removeAll()
        #expect(slots == [3, 1, 2] && !flushes.contains(3))
        // A slot that came while the others were written stays.
        flushes.append(4)
        flushes.reuse(slots)
        #expect(flushes.removeAll() == [4])
        flushes.reuse(slots)
        #expect(flushes.allSatisfy { _ in false })
    }
}
