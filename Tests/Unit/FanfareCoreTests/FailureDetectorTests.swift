import FanfareCore
import Testing

@Suite struct FailureDetectorTests {
    private static let second: UInt64 = 1_000_000_000

    /// Looks every two seconds, as a worker does; answers the time, in seconds, of the first verdict.
    private func firstVerdict(until end: UInt64, _ counters: (UInt64) -> [(worker: String, counter: String)]) -> UInt64?
    {
        var watch = FailureDetector(leaseMs: 10_000)
        for time in stride(from: 0, through: end, by: 2) {
            let verdicts = watch.observe(counters(time), own: "me", now: time * Self.second)
            if !verdicts.isEmpty { return time }
        }
        return nil
    }

    @Test func declaresDeadOnlyAfterAWholeLeaseWithoutMovement() {
        #expect(firstVerdict(until: 60) { _ in [("a", "1")] } == 10)
    }

    @Test func namesTheWorkerAndTheCounterItWasSeenWith() {
        var watch = FailureDetector(leaseMs: 2_000)
        _ = watch.observe([("a", "7")], own: "me", now: 0)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second / 2)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second * 3 / 2)
        let verdicts = watch.observe([("a", "7")], own: "me", now: 2 * Self.second)
        #expect(verdicts == [.init(worker: "a", counter: "7")])
    }

    @Test func movementStartsTheLeaseAnew() {
        #expect(firstVerdict(until: 60) { [("a", $0 < 8 ? "1" : "2")] } == 18)
    }

    @Test func neverJudgesItself() {
        #expect(firstVerdict(until: 100) { _ in [("me", "1")] } == nil)
    }

    @Test func aWorkerThatLeftAndCameBackIsSeenAnew() {
        #expect(firstVerdict(until: 60) { $0 == 6 ? [] : [("a", "1")] } == 18)
    }

    /// While Redis was away nobody could renew: the first worker that is back must not bury the others.
    @Test func aGapInLookingCondemnsNobody() {
        var watch = FailureDetector(leaseMs: 10_000)
        _ = watch.observe([("a", "1")], own: "me", now: 0)
        #expect(watch.observe([("a", "1")], own: "me", now: 60 * Self.second).isEmpty)
        for time in stride(from: UInt64(62), to: 70, by: 2) {
            #expect(watch.observe([("a", "1")], own: "me", now: time * Self.second).isEmpty)
        }
        #expect(watch.observe([("a", "1")], own: "me", now: 70 * Self.second).count == 1)
    }
}
