import FanfareCore
import Testing

@Suite struct LeaseWatchTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func declaresDeadOnlyAfterAWholeLeaseWithoutMovement() {
        var watch = LeaseWatch(leaseMs: 10_000)
        #expect(watch.observe([("a", "1")], own: "me", now: 0).isEmpty)
        #expect(watch.observe([("a", "1")], own: "me", now: 9 * Self.second).isEmpty)
        #expect(
            watch.observe([("a", "1")], own: "me", now: 10 * Self.second) == [.init(worker: "a", counter: "1")]
        )
    }

    @Test func movementStartsTheLeaseAnew() {
        var watch = LeaseWatch(leaseMs: 10_000)
        _ = watch.observe([("a", "1")], own: "me", now: 0)
        #expect(watch.observe([("a", "2")], own: "me", now: 9 * Self.second).isEmpty)
        #expect(watch.observe([("a", "2")], own: "me", now: 18 * Self.second).isEmpty)
        #expect(watch.observe([("a", "2")], own: "me", now: 19 * Self.second).count == 1)
    }

    @Test func neverJudgesItself() {
        var watch = LeaseWatch(leaseMs: 10_000)
        _ = watch.observe([("me", "1")], own: "me", now: 0)
        #expect(watch.observe([("me", "1")], own: "me", now: 100 * Self.second).isEmpty)
    }

    @Test func aWorkerThatLeftAndCameBackIsSeenAnew() {
        var watch = LeaseWatch(leaseMs: 10_000)
        _ = watch.observe([("a", "1")], own: "me", now: 0)
        _ = watch.observe([], own: "me", now: 5 * Self.second)
        #expect(watch.observe([("a", "1")], own: "me", now: 11 * Self.second).isEmpty)
    }

    /// A watcher that was itself asleep has seen nothing move, but only once: it must look again before it judges.
    @Test func aFirstSightingNeverCondemns() {
        var watch = LeaseWatch(leaseMs: 10_000)
        #expect(watch.observe([("a", "7")], own: "me", now: 1_000 * Self.second).isEmpty)
    }
}
