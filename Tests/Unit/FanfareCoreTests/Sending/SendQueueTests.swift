import Testing

@testable import FanfareCore

@Suite struct SendQueueTests {
    private func queue(_ batches: [(slot: Int, kind: SendQueue.Kind, priority: Int)]) -> SendQueue {
        var queue = SendQueue()
        for batch in batches { queue.append(batch.slot, to: batch.kind, priority: batch.priority) }
        return queue
    }

    @Test func anEmptyQueueHasNothingToSend() {
        #expect(SendQueue().isEmpty && SendQueue().unsent == 0 && SendQueue().slots.isEmpty)
    }

    @Test func batchesKeepTheOrderOfTheirArrival() {
        let queue = queue([(3, .singles, 5), (1, .managed, 5), (2, .singles, 9), (0, .managed, 1)])
        #expect(queue.singles.slots == [3, 2] && queue.managed.slots == [1, 0] && queue.fanouts.slots.isEmpty)
        #expect(queue.slots == [3, 2, 1, 0] && !queue.isEmpty)
    }

    @Test func fanoutsGoByPriorityThenArrival() {
        let queue = queue([(0, .fanouts, 5), (1, .fanouts, 9), (2, .fanouts, 5), (3, .fanouts, 1), (4, .fanouts, 9)])
        #expect(queue.fanouts.slots == [1, 4, 0, 2, 3])
    }

    @Test func aFanoutAppendedAfterARemovalGoesByPriority() {
        var queue = queue([(0, .fanouts, 5), (1, .fanouts, 9), (2, .fanouts, 1)])
        queue.remove(1, from: .fanouts)
        queue.remove(7, from: .fanouts)
        queue.append(3, to: .fanouts, priority: 5)
        #expect(queue.fanouts.slots == [0, 3, 2])
    }

    @Test func aBatchIsRemovedFromItsLineOnly() {
        var queue = queue([(0, .singles, 5), (1, .managed, 5)])
        queue.remove(0, from: .managed)
        #expect(queue.slots == [0, 1])
        queue.remove(0, from: .singles)
        queue.remove(1, from: .managed)
        #expect(queue.isEmpty)
    }

    @Test func recipientsAreCountedByLine() {
        var queue = SendQueue()
        queue.count(3, in: .singles)
        queue.count(20, in: .managed)
        queue.count(100, in: .fanouts)
        queue.count(-1, in: .singles)
        #expect(queue.singles.unsent == 2 && queue.managed.unsent == 20 && queue.fanouts.unsent == 100)
        #expect(queue.unsent == 102, "operations need no permits")
    }

    /// Usually in front; after others if a batch before them waits for its watermark.
    @Test(arguments: [[0], [0, 1], [2], [1, 3], [0, 4, 6], [0, 1, 2, 3, 4, 5, 6]])
    func batchesThatAreDoneAreRemoved(done: [Int]) {
        var queue = queue([
            (0, .singles, 5), (1, .singles, 5), (2, .singles, 5), (3, .managed, 5), (4, .fanouts, 9), (5, .fanouts, 5),
            (6, .fanouts, 1),
        ])
        queue.removeDone(done.count) { done.contains($0) }
        #expect(queue.slots == (0..<7).filter { !done.contains($0) })
        queue.append(7, to: .fanouts, priority: 6)
        let fanouts = [4, 7, 5, 6].filter { !done.contains($0) }
        #expect(queue.fanouts.slots == fanouts, "priorities stay beside their batches")
    }
}

extension SendQueue.Line {
    var slots: [Int] { places.map(\.slot) }
}

extension SendQueue {
    var slots: [Int] { singles.slots + managed.slots + fanouts.slots }
}
