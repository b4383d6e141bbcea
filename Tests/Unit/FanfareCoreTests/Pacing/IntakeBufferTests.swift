import FanfareCore
import Testing

@Suite struct IntakeBufferTests {
    private typealias Queue = IntakeBuffer<String>
    private static let second: UInt64 = 1_000_000_000

    private func began(_ queue: inout Queue) -> [String] {
        var entries: [String] = []
        while let entry = queue.next() { entries.append(entry) }
        return entries
    }

    private func takes(_ queue: inout Queue, _ now: UInt64) -> Bool { queue.takeLeftovers(now: now) }

    @Test func smallOnesBeginTogetherAndInTheirOrder() {
        var queue = Queue()
        for number in 0..<5 { queue.add("\(number)", bytes: 400) }
        #expect(queue.underWay == 5)
        #expect(began(&queue) == ["0", "1", "2", "3", "4"])
        #expect(queue.underWay == 5 && queue.room(now: 0) == Queue.mostEntries - 5)
        for _ in 0..<5 { queue.finished(bytes: 400) }
        #expect(queue.underWay == 0 && queue.room(now: 0) == Queue.mostEntries)
    }

    @Test func largeOnesBeginOneByOne() {
        var queue = Queue()
        let large = Queue.mostBytes + 1
        for name in ["a", "b", "c"] { queue.add(name, bytes: large) }
        #expect(began(&queue) == ["a"])
        #expect(queue.underWay == 3 && queue.room(now: 0) == 0, "nothing is read while others wait")
        #expect(queue.isFull(now: 0) && !Queue().isFull(now: 0))
        queue.finished(bytes: large)
        #expect(began(&queue) == ["b"])
        queue.finished(bytes: large)
        #expect(began(&queue) == ["c"] && queue.room(now: 0) == 0, "nor while there are bytes enough")
        queue.finished(bytes: large)
        #expect(queue.room(now: 0) == Queue.mostEntries)
    }

    @Test func aSmallOneWaitsBehindALargeOne() {
        var queue = Queue()
        queue.add("small", bytes: 10)
        queue.add("large", bytes: Queue.mostBytes)
        queue.add("next", bytes: 10)
        #expect(began(&queue) == ["small", "large"])
        queue.finished(bytes: 10)
        #expect(began(&queue).isEmpty)
        queue.finished(bytes: Queue.mostBytes)
        #expect(began(&queue) == ["next"])
    }

    @Test func afterAFailureThoseThatWaitAreReadAgain() {
        var queue = Queue()
        let large = Queue.mostBytes
        for name in ["a", "b", "c"] { queue.add(name, bytes: large) }
        _ = queue.next()
        queue.failed(bytes: large, now: 10 * Self.second)
        #expect(queue.underWay == 0 && began(&queue).isEmpty)
        let failedAt = 10 * Self.second
        #expect(queue.room(now: failedAt + Queue.pauseNs - 1) == 0)
        #expect(queue.room(now: failedAt + Queue.pauseNs) == Queue.mostEntries, "others may go before it")
        #expect(queue.hasLeftovers && !takes(&queue, failedAt + Queue.againNs - 1))
        #expect(takes(&queue, failedAt + Queue.againNs))
        #expect(!queue.hasLeftovers && !takes(&queue, failedAt + 5 * Self.second), "once")
    }

    /// While all of them fail, each failure would put the next reading off for ever.
    @Test func furtherFailuresDoNotPutTheReadingOff() {
        var queue = Queue()
        for name in ["a", "b"] { queue.add(name, bytes: 1) }
        _ = began(&queue)
        queue.failed(bytes: 1, now: Self.second)
        queue.failed(bytes: 1, now: 3 * Self.second / 2)
        #expect(queue.leftoversAreDue(now: Self.second + Queue.againNs))
    }

    @Test func whatOthersLeftIsReadWhenNothingIsUnderWay() {
        var queue = Queue()
        queue.add("a", bytes: 1)
        _ = queue.next()
        queue.noteLeftovers(now: 0)
        #expect(queue.leftoversAreDue(now: 0) && !takes(&queue, 0), "it may be the one under way")
        queue.finished(bytes: 1)
        #expect(takes(&queue, 0))
    }

    @Test func noMoreThanSoManyAreUnderWay() {
        var queue = Queue()
        for number in 0..<Queue.mostEntries { queue.add("\(number)", bytes: 1) }
        #expect(began(&queue).count == Queue.mostEntries && queue.room(now: 0) == 0)
    }
}
