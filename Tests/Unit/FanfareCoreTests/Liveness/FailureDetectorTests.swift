import FanfareCore
import Testing

@Suite struct FailureDetectorTests {
    private static let second: UInt64 = 1_000_000_000

    /// The time, in seconds, of the first death, with an observation every two seconds.
    private func firstDeath(until end: UInt64, _ counters: (UInt64) -> [(worker: String, counter: String)]) -> UInt64? {
        var watch = FailureDetector(leaseMs: 10_000)
        for time in stride(from: 0, through: end, by: 2) {
            let dead = watch.observe(counters(time), own: "me", now: time * Self.second)
            if !dead.isEmpty { return time }
        }
        return nil
    }

    @Test func workerIsDeadAfterAWholeLeaseWithoutRenewal() {
        #expect(firstDeath(until: 60) { _ in [("a", "1")] } == 10)
    }

    @Test func deathNamesTheWorkerAndItsLastCounter() {
        var watch = FailureDetector(leaseMs: 2_000)
        _ = watch.observe([("a", "7")], own: "me", now: 0)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second / 2)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second)
        _ = watch.observe([("a", "7")], own: "me", now: Self.second * 3 / 2)
        let dead = watch.observe([("a", "7")], own: "me", now: 2 * Self.second)
        #expect(dead.map(\.worker) == ["a"] && dead.map(\.counter) == ["7"])
    }

    @Test func renewalStartsTheLeaseAnew() {
        #expect(firstDeath(until: 60) { [("a", $0 < 8 ? "1" : "2")] } == 18)
    }

    @Test func workerDoesNotDeclareItselfDead() {
        #expect(firstDeath(until: 100) { _ in [("me", "1")] } == nil)
    }

    @Test func workerThatLeftAndReturnedHasANewLease() {
        #expect(firstDeath(until: 60) { $0 == 6 ? [] : [("a", "1")] } == 18)
    }

    // MARK: Leases that rest

    private static let (awake, resting) = ("3000000000007", "4000000000007")

    @Test func restingLeaseLastsLonger() {
        var watch = FailureDetector(leaseMs: 10_000, restMs: 60_000)
        let deaths = stride(from: UInt64(0), through: 60, by: 2).filter {
            !watch.observe([("a", Self.resting), ("b", Self.awake)], own: "me", now: $0 * Self.second).isEmpty
        }
        #expect(deaths == Array(stride(from: 10, through: 60, by: 2)), "b")
        let dead = watch.observe([("a", Self.resting)], own: "me", now: 62 * Self.second)
        #expect(dead.map(\.worker) == ["a"])
    }

    /// A worker that rests itself looks seldom.
    @Test func restingObserverSeesTheDeadToo() {
        var watch = FailureDetector(leaseMs: 10_000, restMs: 60_000)
        let counters: [(worker: String, counter: String)] = [("me", Self.resting), ("a", Self.awake)]
        #expect(watch.observe(counters, own: "me", now: 0).isEmpty)
        #expect(watch.observe(counters, own: "me", now: 25 * Self.second).map(\.worker) == ["a"])
    }

    @Test func restingLeaseOfASuspectIsOver() {
        var watch = FailureDetector(leaseMs: 10_000, restMs: 60_000)
        watch.suspect("a.1")
        let counters: [(worker: String, counter: String)] = [
            ("a.1.2", Self.resting), ("a.2.1", Self.resting), ("a.1.3", Self.awake),
        ]
        #expect(watch.observe(counters, own: "me", now: 0).map(\.worker) == ["a.1.2"])
        #expect(watch.observe(counters, own: "me", now: Self.second).isEmpty, "a suspicion holds once")
    }

    /// While Redis was away no worker could renew: the first one that is back must not declare the others dead.
    @Test func gapInObservationsDeclaresNoWorkerDead() {
        var watch = FailureDetector(leaseMs: 10_000)
        _ = watch.observe([("a", "1")], own: "me", now: 0)
        #expect(watch.observe([("a", "1")], own: "me", now: 60 * Self.second).isEmpty)
        for time in stride(from: UInt64(62), to: 70, by: 2) {
            #expect(watch.observe([("a", "1")], own: "me", now: time * Self.second).isEmpty)
        }
        #expect(watch.observe([("a", "1")], own: "me", now: 70 * Self.second).count == 1)
    }
}
