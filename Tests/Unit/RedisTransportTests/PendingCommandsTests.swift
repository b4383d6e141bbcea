import Testing

@testable import RedisTransport

@Suite struct PendingCommandsTests {
    private func commands(_ times: [(sentAt: UInt64, timeout: UInt64)]) -> PendingCommands<Int> {
        var pending = PendingCommands<Int>()
        for (index, time) in times.enumerated() {
            pending.append(.init(waiter: index, sentAt: time.sentAt, timeout: time.timeout, end: UInt64(index)))
        }
        return pending
    }

    @Test func commandIsLateWhenNoBytesMovedDuringItsTimeout() {
        let entry = PendingCommands<Int>.Entry(waiter: 0, sentAt: 100, timeout: 50, end: 0)
        #expect(entry.deadline(movedAt: 0) == 150, "bytes that moved before it was sent say nothing of it")
        #expect(entry.deadline(movedAt: 100) == 150)
        #expect(entry.deadline(movedAt: 140) == 190)
    }

    @Test func earliestDeadlineMayBeOfALaterCommand() {
        var pending = commands([(100, 5_000), (200, 50), (300, 5_000)])
        #expect(pending.earliestDeadline(movedAt: 0) == 250)
        #expect(pending.earliestDeadline(movedAt: 400) == 450)
        _ = pending.popFirst()
        _ = pending.popFirst()
        #expect(pending.earliestDeadline(movedAt: 400) == 5_400)
        _ = pending.popFirst()
        #expect(pending.earliestDeadline(movedAt: 400) == nil)
    }

    /// Also while commands wait after it: an answered command may hold a job of hundreds of megabytes.
    @Test func waiterOfAnAnsweredCommandIsReleased() {
        final class Waiter {}
        var pending = PendingCommands<Waiter>()
        weak var first: Waiter?
        do {
            let waiter = Waiter()
            first = waiter
            pending.append(.init(waiter: waiter, sentAt: 0, timeout: 1, end: 0))
            pending.append(.init(waiter: Waiter(), sentAt: 0, timeout: 1, end: 0))
        }
        #expect(first != nil)
        _ = pending.popFirst()
        #expect(first == nil && pending.count == 1)
        let rest = pending.removeAll()
        #expect(rest.count == 1 && pending.isEmpty)
    }
}
