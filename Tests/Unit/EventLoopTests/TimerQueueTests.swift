import Testing

@testable import EventLoop

@Suite struct TimerQueueTests {
    @Test func timersRunInOrderOfDeadlineThenOfAdding() {
        var queue = TimerQueue()
        var order: [String] = []
        for (deadline, name) in [(30, "c"), (10, "a"), (20, "b1"), (20, "b2")] as [(UInt64, String)] {
            _ = queue.add(at: deadline) { order.append(name) }
        }
        while let body = queue.popDue(25, before: .max) { body() }
        #expect(order == ["a", "b1", "b2"])
        #expect(queue.nextDeadline == 30)
    }

    @Test func cancelledTimerNeverRunsNorDelaysOthers() {
        var queue = TimerQueue()
        let first = queue.add(at: 1) { Issue.record("ran after it was cancelled") }
        _ = queue.add(at: 5) {}
        queue.cancel(first)
        #expect(queue.nextDeadline == 5)
        #expect(queue.popDue(4, before: .max) == nil)
    }

    @Test func timerAddedByATimerWaitsForTheNextTurn() {
        var queue = TimerQueue()
        _ = queue.add(at: 1) {}
        let horizon = queue.horizon
        #expect(queue.popDue(10, before: horizon) != nil)
        _ = queue.add(at: 1) {}
        #expect(queue.popDue(10, before: horizon) == nil)
        #expect(queue.popDue(10, before: queue.horizon) != nil)
    }

    @Test func repeatingTimerIsDueAnIntervalAfterEachRunUntilCancelled() {
        var queue = TimerQueue()
        var runs = 0
        let id = queue.add(at: 10, interval: 10) { runs += 1 }
        for now in stride(from: 5, through: 50, by: 5) as StrideThrough<UInt64> {
            while let body = queue.popDue(now, before: queue.horizon) { body() }
        }
        #expect(runs == 5)
        #expect(queue.nextDeadline == 60)
        queue.cancel(id)
        #expect(queue.nextDeadline == nil)
        #expect(queue.popDue(60, before: queue.horizon) == nil)
    }

    @Test func repeatingTimerThatIsLateRunsOnceAndSkipsTheMissedRuns() {
        var queue = TimerQueue()
        _ = queue.add(at: 10, interval: 10) {}
        #expect(queue.popDue(95, before: queue.horizon) != nil)
        #expect(queue.popDue(95, before: queue.horizon) == nil)
        #expect(queue.nextDeadline == 105)
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func randomTimersRunInOrder(seed: UInt64) {
        var state = seed
        func draw() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        var queue = TimerQueue()
        var expected: [UInt64] = []
        var ran: [UInt64] = []
        for _ in 0..<500 {
            let deadline = draw() % 1_000
            let id = queue.add(at: deadline) { ran.append(deadline) }
            if draw() % 4 == 0 { queue.cancel(id) } else { expected.append(deadline) }
        }
        while let body = queue.popDue(1_000, before: .max) { body() }
        #expect(ran == expected.sorted())
    }
}
